// The most changed records, each with the results of both runs side by side.

const AT_ONCE = 5;
const LONG = 700;
const LONGEST_TEXT = 600;
const movedBox = el('div.moved-box');
let movedDrawn = 0;

/** The metric in the address, else the leading one, else any with changed records. */
function chosenMetric() {
  const wanted = /^#moved=([\w.-]+)$/.exec(location.hash)?.[1] || '';
  return [wanted, first.leading].find((name) => Object.hasOwn(first.moved, name)) || Object.keys(first.moved)[0] || '';
}

/** The section of changed records; null if there are none. */
function movedSection() {
  const metrics = Object.keys(first.moved);
  if (!metrics.length) return null;
  return el(
    'section',
    { class: 'moved', 'aria-labelledby': 'moved' },
    el('h2', { id: 'moved', tabindex: '-1' }, 'Largest changes'),
    el(
      'div.choices',
      choice(
        'Metric',
        metrics.map((name) => [name, named(name)]),
        chosenMetric(),
        (name) => {
          location.hash = `moved=${name}`;
        },
      ),
      el('p.note.screen', el('kbd', 'j'), ' and ', el('kbd', 'k'), ' step through the records'),
    ),
    movedBox,
  );
}

/** Draw the records of the chosen metric. @param {number} [least] minimum number of records drawn */
async function drawMoved(least = AT_ONCE) {
  const mine = ++movedDrawn;
  const metric = chosenMetric();
  if (!metric) return;
  const select = document.getElementById('choose-metric');
  select.value = metric;
  const { block: name, records } = first.moved[metric];
  if (!name) {
    refill(
      movedBox,
      el(
        'p.empty',
        `The ${plural(records, 'record')} for this metric do not fit in this file. Write it with a smaller `,
        el('code', '--moved'),
        ', or with ',
        el('code', `-m ${metric}`),
        ' alone.',
      ),
    );
    return;
  }
  let found = [];
  try {
    found = await block(name);
  } catch (error) {
    if (mine === movedDrawn) refill(movedBox, el('p.empty', foreign(error.message)));
    return;
  }
  if (mine !== movedDrawn) return;
  const more = found.length - least;
  refill(
    movedBox,
    found.slice(0, least).map((one) => movedRecord(one, metric)),
    more > 0
      ? el(
          'button',
          { class: 'screen', on: { click: () => showMore(least) } },
          `Show ${Math.min(more, AT_ONCE)} more of ${count(more)}`,
        )
      : null,
  );
}

/** @param {number} before number of records already drawn */
async function showMore(before) {
  await drawMoved(before + AT_ONCE);
  movedBox.querySelectorAll('h3')[before]?.focus();
}

/** @param {any} one @param {string} metric */
function movedRecord(one, metric) {
  const [before, after] = first.sides.map((side) => side.label);
  return el(
    'article.moved-record',
    el(
      'header',
      el('div', idHeading('h3', { tabindex: '-1' }, one.id)),
      el(
        'p.number',
        `${percent(one.first)} `,
        el('span', { 'aria-hidden': 'true' }, '\u2192'),
        unseen('to'),
        ` ${percent(one.second)} `,
        el(
          'b',
          { class: one.second < one.first !== bestAtZero(metric) ? 'wrong' : null },
          `${signed(100 * (one.second - one.first))} points`,
        ),
      ),
    ),
    one.histories.map((turns, place) =>
      earlierTurns(turns, one.histories.length > 1 ? `, in ${first.sides[place].label}` : ''),
    ),
    el(
      'p',
      { class: 'prose question', dir: 'auto' },
      one.question === null ? el('span.soft', 'no question') : one.question,
    ),
    one.other_question === null
      ? null
      : el('p.note', `Different question in ${after}: `, foreign(one.other_question, { class: 'written' })),
    one.contexts ? el('p.note', `Different passages in ${after}: ${one.contexts}.`) : null,
    one.responses.length === 1
      ? el('div.both', responseOf(`Response, the same in ${before} and ${after}`, one.responses[0], []))
      : el(
          'div.both.columns',
          responseOf(`Response in ${before}`, one.responses[0], one.marks[0]),
          responseOf(`Response in ${after}`, one.responses[1], one.marks[1]),
        ),
    changesTable(one, metric),
  );
}

/**
 * A response with its verdicts underlined.
 * @param {string} title
 * @param {string | null} text
 * @param {any[]} marks
 */
function responseOf(title, text, marks) {
  const spans = marks.map((mark) => ({ start: mark.start, end: mark.end, of: mark }));
  return el(
    'div.side',
    el('h4', foreign(title)),
    text === null
      ? el('p.empty', 'There is no response.')
      : !text.trim()
        ? el('p.empty', 'The response is blank.')
        : el(
            'div',
            {
              class: 'prose',
              dir: directionOf(text),
              tabindex: text.length > LONG ? 0 : null,
              role: 'group',
              'aria-label': title,
            },
            laidOut(text, spans, ({ text: piece, of }) => {
              if (!of.length) return piece;
              const [{ kind, word }] = tally(of);
              return el('span', { class: `mark ${kind}`, dir: 'auto', title: word }, piece, unseen(` [${word}] `));
            }),
          ),
  );
}

/**
 * The verdicts that changed, with reasons and quotes.
 * @param {any} one
 * @param {string} metric
 */
function changesTable(one, metric) {
  const rest = [
    one.more ? plural(one.more, 'more changed verdict') : '',
    one.same ? plural(one.same, 'unchanged verdict') : '',
    ...first.sides.map((side, place) =>
      one.full[place]
        ? `${plural(one.full[place], measureOf(metric).unit)} only in ${side.label}, with a full score`
        : '',
    ),
  ].filter(Boolean);
  if (!one.changed.length) {
    const why = rest.length
      ? `No verdict changed. Not listed: ${rest.join(' \u00b7 ')}.`
      : measureOf(metric).task === 'trace'
        ? 'This score is computed from the passage sentences.'
        : 'This score has no verdicts.';
    return el('p.note', `${why} `, showCommand(one));
  }
  return [
    wide(
      `Verdicts that changed in ${one.id}`,
      el(
        'table',
        { class: 'changes', role: 'table' },
        tableHead(['Verdict on', ...first.sides.map((side) => side.label)].map((title) => columnHead(foreign(title)))),
        el(
          'tbody',
          { role: 'rowgroup' },
          one.changed.map((row) =>
            el(
              'tr',
              { role: 'row' },
              el(
                'th',
                { scope: 'row', role: 'rowheader', class: 'words' },
                row.text ? foreign(shortened(row.text, LONGEST_TEXT)) : 'the response as a whole',
              ),
              row.sides.map((side, place) => sideCell(side, place, one, metric)),
            ),
          ),
        ),
      ),
    ),
    el('p.note', rest.length ? `Not listed: ${rest.join(' \u00b7 ')} \u00b7 ` : '', showCommand(one)),
  ];
}

/** @param {any} side @param {number} place @param {any} one @param {string} metric */
function sideCell(side, place, one, metric) {
  const label = el('span', { class: 'of', 'aria-hidden': 'true' }, foreign(first.sides[place].label));
  if (!side)
    return el(
      'td',
      { role: 'cell', class: 'soft' },
      label,
      one.responses.length === 1 && sourceOf(metric) === 'response'
        ? `not among its ${measureOf(metric).unit}s`
        : `not in this ${sourceOf(metric)}`,
    );
  return el(
    'td',
    { role: 'cell' },
    label,
    verdictSign(side.kind, side.word),
    side.why ? el('p.reason', side.failed ? 'Unjudged: ' : '', foreign(side.why)) : null,
    side.quotes.map((quote) => quoted(quote.text, foreign(quote.place))),
  );
}

/** The source of a metric's units: bank or response. @param {string} metric */
function sourceOf(metric) {
  return measureOf(metric).task === BANK ? 'bank' : 'response';
}

/** Links to the full record, or the command that shows it. @param {any} one */
function showCommand(one) {
  const side = first.sides[1];
  if (first.root)
    return first.sides.map((side, place) => [
      place ? ', in ' : 'the record in ',
      el('a', { href: `${first.root}run/${side.run}/#record=${one.positions[place]}` }, foreign(side.label)),
    ]);
  return side.run
    ? ['full record: ', el('code', command(`ragstone show ${side.run} '#${one.positions[1]}'`, side.store))]
    : null;
}

/** Move the focus to the next or previous record. @param {number} by */
function stepMoved(by) {
  const heads = [...movedBox.querySelectorAll('h3')];
  const now = heads.findIndex((head) => head === document.activeElement);
  const wanted = heads[now < 0 ? (by > 0 ? 0 : heads.length - 1) : now + by];
  if (!wanted) return;
  wanted.focus({ preventScroll: true });
  wanted.closest('article')?.scrollIntoView();
}
