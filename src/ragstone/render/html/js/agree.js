// The page about a judge's agreement with people: agreement, corrected means, annotators, and disagreements.

function agreementView() {
  const [leading, ...others] = first.agreement.blocks;
  const about = [
    first.run ? `run ${first.run}` : '',
    `${count(first.joined)} of ${plural(first.rows, 'label')} matched`,
  ];
  return el(
    'main.sheet.agree',
    el(
      'header.title',
      el('h1', { id: 'title' }, foreign(first.name)),
      el('p.about', [...about.filter(Boolean), 'no judge was called'].join(' \u00b7 ')),
    ),
    leading && [el('p.sentence', foreign(`${leading.said}.`)), el('p.note', foreign(leading.about))],
    refusedPart(),
    leading && section('agreement', 'numbers', 'Agreement', agreementFigures(leading)),
    others.map(agreementBlock),
    [...first.wholes, ...first.notes].map((line) => el('p.note', foreign(line))),
    first.figures.map(figuresPart),
    disagreementsPart(),
    annotatorsPart(),
    el('footer.note.agreement', foreign(first.agreement.source), ` Made by Ragstone ${first.ragstone}.`),
  );
}

/** @param {any} told @param {number} at */
function figuresPart(told, at) {
  const rows = told.rows.map(([name, ...cells]) =>
    tableRow(
      foreign(name),
      cells.map((cell) => el('td.number', cell)),
    ),
  );
  return section(
    'agreement',
    `figures${at}`,
    told.title,
    el('p.note', told.note),
    told.lines.map((line) => el('p.reading', foreign(line))),
    rows.length ? plainTable(told.title, told.head, rows) : null,
  );
}

/** @param {string} called @param {string[]} titles @param {Node[]} rows */
function plainTable(called, titles, rows) {
  const head = tableHead(titles.map((title, at) => columnHead(foreign(title), at ? 'number' : null)));
  return wide(called, el('table.plain', head, el('tbody', rows)));
}

function disagreementsPart() {
  if (!first.disagreements.length) return null;
  return section(
    'agreement',
    'disagreements',
    'Disagreements',
    el('p.note', `${count(first.disagreements.length)} shown, largest first.`),
    el('ol.differing', first.disagreements.map(disagreementView)),
  );
}

function disagreementView(one) {
  const [same, all] = one.votes;
  const votes = all > 1 ? ` (${count(same)} of ${count(all)})` : '';
  return el(
    'li',
    el('p.note', el('b', foreign(one.record)), ` \u00b7 ${one.metric} \u00b7 `, foreign(one.question)),
    el('p.written', foreign(one.text, { dir: 'auto' })),
    el(
      'dl',
      el('dt', foreign(first.people)),
      el('dd', el('b', foreign(one.people)), votes),
      el('dt', 'judge'),
      el(
        'dd',
        el('b.wrong', foreign(one.judge)),
        ` (${one.lenient ? 'more lenient' : 'stricter'})`,
        one.reason ? [': ', foreign(one.reason)] : null,
      ),
      one.quotes.map((quote) => [
        el('dt', foreign(quote.place)),
        el('dd.quote', '\u201c', foreign(quote.text, { dir: 'auto' }), '\u201d'),
      ]),
    ),
  );
}

function annotatorsPart() {
  const named = first.annotators.filter((one) => one.name);
  if (!named.length) return null;
  const timed = named.some((one) => one.minutes !== null);
  const titles = ['Annotator', 'Labels', 'Records', 'Cannot tell', ...(timed ? ['Minutes'] : [])];
  const rows = named.map((one) =>
    tableRow(
      foreign(one.name),
      [one.labels, one.records, one.cannot_tell].map((number) => el('td.number', count(number))),
      timed ? el('td.number', one.minutes === null ? '' : one.minutes.toFixed(1)) : null,
    ),
  );
  const pairs = first.pairs.map((pair) => el('p.note', foreign(pair)));
  return section('agreement', 'annotators', 'Annotators', plainTable('Annotators', titles, rows), pairs);
}

function refusedPart() {
  if (!first.refused.length) return null;
  return section(
    'agreement',
    'refused',
    'Unused labels',
    el(
      'ul.causes',
      first.refused.map((one) =>
        el(
          'li',
          el('b.number', count(one.count)),
          el(
            'span',
            one.said,
            one.first.map((row) => el('span.note', foreign(row))),
          ),
        ),
      ),
    ),
  );
}

refill(document.getElementById('page'), el('header.top', wordmark(), lookButton()), agreementView());
