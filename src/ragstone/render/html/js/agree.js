// The page of a judge and people: how far they agree, what that does to the means, who labelled, and where they differ.

/** @param {string} title @param {string} id @param {...any} children */
function part(title, id, ...children) {
  return el('section', { class: 'agreement', 'aria-labelledby': id }, el('h2', { id }, title), ...children);
}

function agreementView() {
  const [leading, ...others] = first.agreement.blocks;
  const about = [
    first.run ? `run ${first.run}` : '',
    `${count(first.joined)} of ${plural(first.rows, 'label')} matched`,
  ];
  return el(
    'main',
    { class: 'sheet agree' },
    el(
      'header',
      { class: 'title' },
      el('h1', { id: 'title' }, foreign(first.name)),
      el('p', { class: 'about' }, [...about.filter(Boolean), 'no judge was called'].join(' \u00b7 ')),
    ),
    leading && [
      el('p', { class: 'sentence' }, foreign(`${leading.said}.`)),
      el('p', { class: 'note' }, foreign(leading.about)),
    ],
    refusedPart(),
    leading &&
      el('div', { class: 'agreeing' }, el('div', { class: 'pair' }, matrixView(leading), meansView(leading.means))),
    others.map(agreementBlock),
    first.wholes.map((/** @type {string} */ line) => el('p', { class: 'note' }, foreign(line))),
    first.notes.map((/** @type {string} */ note) => el('p', { class: 'note' }, foreign(note))),
    first.figures.map(figuresPart),
    disagreementsPart(),
    annotatorsPart(),
    el('footer', { class: 'note agreement' }, foreign(first.agreement.source), ` Made by Ragstone ${first.ragstone}.`),
  );
}

/** @param {any} told @param {number} at */
function figuresPart(told, at) {
  const rows = told.rows.map((/** @type {string[]} */ row) =>
    el(
      'tr',
      null,
      row.map((cell, column) =>
        column ? el('td', { class: 'number' }, cell) : el('th', { scope: 'row' }, foreign(cell)),
      ),
    ),
  );
  return part(
    told.title,
    `figures${at}`,
    el('p', { class: 'note' }, told.note),
    told.lines.map((/** @type {string} */ line) => el('p', { class: 'reading' }, foreign(line))),
    rows.length ? plainTable(told.title, told.head, rows) : null,
  );
}

/** @param {string} called @param {string[]} titles @param {Node[]} rows */
function plainTable(called, titles, rows) {
  const head = tableHead(
    titles.map((title, at) => el('th', { scope: 'col', class: at ? 'number' : null }, foreign(title))),
  );
  const table = el('table', { class: 'plain' }, head, el('tbody', null, rows));
  return el('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': called }, table);
}

function disagreementsPart() {
  if (!first.disagreements.length) return null;
  return part(
    'Disagreements',
    'disagreements',
    el('p', { class: 'note' }, `The ${count(first.disagreements.length)} largest, worst first.`),
    el('ol', { class: 'differing' }, first.disagreements.map(disagreementView)),
  );
}

/** @param {any} one */
function disagreementView(one) {
  const [same, all] = one.votes;
  const votes = all > 1 ? ` (${count(same)} of ${count(all)})` : '';
  return el(
    'li',
    null,
    el(
      'p',
      { class: 'note' },
      el('b', null, foreign(one.record)),
      ` \u00b7 ${one.metric} \u00b7 `,
      foreign(one.question),
    ),
    el('p', { class: 'written' }, foreign(one.text, { dir: 'auto' })),
    el(
      'dl',
      null,
      el('dt', null, foreign(first.people)),
      el('dd', null, el('b', null, foreign(labelWords(one.people))), votes),
      el('dt', null, 'judge'),
      el(
        'dd',
        null,
        el('b', { class: 'wrong' }, foreign(labelWords(one.judge))),
        ` (${one.lenient ? 'more lenient' : 'stricter'})`,
        one.reason ? [': ', foreign(one.reason)] : null,
      ),
      one.quotes.map((/** @type {any} */ quote) => [
        el('dt', null, foreign(quote.place)),
        el('dd', { class: 'quote' }, '\u201c', foreign(quote.text, { dir: 'auto' }), '\u201d'),
      ]),
    ),
  );
}

/** @param {string} label */
function labelWords(label) {
  return label.replaceAll('_', ' ');
}

function annotatorsPart() {
  const named = first.annotators.filter((/** @type {any} */ one) => one.name);
  if (!named.length) return null;
  const timed = named.some((/** @type {any} */ one) => one.minutes !== null);
  const titles = ['Annotator', 'Labels', 'Records', 'Cannot tell', ...(timed ? ['Minutes'] : [])];
  const rows = named.map((/** @type {any} */ one) =>
    el(
      'tr',
      null,
      el('th', { scope: 'row' }, foreign(one.name)),
      [
        count(one.labels),
        count(one.records),
        count(one.cannot_tell),
        ...(timed ? [one.minutes === null ? '' : one.minutes.toFixed(1)] : []),
      ].map((cell) => el('td', { class: 'number' }, cell)),
    ),
  );
  const pairs = first.pairs.map((/** @type {any} */ pair) =>
    el(
      'p',
      { class: 'note' },
      foreign(pair.first || 'unnamed'),
      ' and ',
      foreign(pair.second || 'unnamed'),
      `: kappa ${pair.kappa_said} on ${plural(pair.units, 'unit')} (${pair.metric})`,
    ),
  );
  return part(
    'Annotators',
    'annotators',
    plainTable('Annotators', titles, rows),
    pairs,
  );
}

function refusedPart() {
  if (!first.refused.length) return null;
  return part(
    'Unused labels',
    'refused',
    el(
      'ul',
      { class: 'causes' },
      first.refused.map((/** @type {any} */ one) =>
        el(
          'li',
          null,
          el('b', { class: 'number' }, count(one.count)),
          el(
            'span',
            null,
            one.said,
            one.first.map((/** @type {string} */ row) => el('span', { class: 'note' }, foreign(row))),
          ),
        ),
      ),
    ),
  );
}

refill(
  /** @type {HTMLElement} */ (document.getElementById('page')),
  el('header', { class: 'top' }, wordmark(), lookButton()),
  agreementView(),
);
