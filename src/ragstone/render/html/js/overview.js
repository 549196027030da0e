// The first screen: title, one sentence, a card per metric, judges and cost.

function overviewView() {
  const cards = scored.slice(0, 6);
  return el(
    'section',
    { class: 'first', 'aria-labelledby': 'title' },
    el(
      'div.told',
      titleBlock(),
      notice(),
      el(
        'p.sentence',
        first.sentence.map((part) =>
          part.to ? figure(part.to, foreign(part.text), part.to.below && 'wrong') : foreign(part.text),
        ),
      ),
      cards.length ? el('div', { class: `cards of-${cards.length}` }, cards.map(card)) : nothingScored(),
      first.metrics.length > cards.length && cards.length
        ? el(
            'p.note.more.screen',
            el(
              'button',
              { class: 'plain', on: { click: () => document.getElementById('every')?.scrollIntoView() } },
              `All ${count(first.metrics.length)} scores`,
            ),
            ' are in the table below.',
          )
        : null,
    ),
    factsBlock(),
  );
}

function titleBlock() {
  const about = [
    moment(first.started),
    plural(first.records, 'record'),
    `judged by ${shortJudged(first.judge.split(', '))}`,
    `run ${first.run}`,
  ];
  return el(
    'header.title',
    el('h1', { id: 'title', tabindex: '-1' }, foreign(first.name)),
    el(
      'div.about',
      el('span', foreign(about.join(' \u00b7 '))),
      el(
        'details.signatures',
        el('summary', 'signature'),
        el(
          'dl',
          first.metrics.flatMap((metric) => [el('dt', metric.name), el('dd', foreign(metric.signature))]),
        ),
        el('p', `Made by Ragstone ${first.ragstone}. Compare two numbers only if their signatures are equal.`),
      ),
    ),
  );
}

/** The notice above a run that did not finish normally. */
function notice() {
  if (first.status === 'done') return null;
  const why =
    {
      interrupted: 'This run was interrupted.',
      stopped: 'This run was stopped by an error or a budget.',
      unfinished: 'This run has not finished: it is running or was cut off.',
    }[first.status] || `This run is ${first.status}.`;
  return el(
    'p.notice',
    el('strong', why),
    ` The figures cover the ${plural(first.records, 'record')} with a result. `,
    'Run the same command to resume; stored replies are free.',
  );
}

/**
 * A number linked to the records that it counts.
 * @param {Record<string, any>} to @param {Child} said @param {string} [kind]
 */
function figure(to, said, kind) {
  const more = kind ? ` ${kind}` : '';
  return el('a', { href: address(filterOf(to)), class: `figure${more}`, on: { click: showRecords } }, said);
}

/** The records with the worst values first. @param {string} sort a metric */
function worstFirst(sort) {
  return { sort, down: bestAtZero(sort) };
}

function card(metric) {
  const units = metric.scored;
  const interval =
    metric.interval && el('span.interval', `95% CI ${between(metric.interval[0], metric.interval[1], units)}`);
  return el(
    'article.card',
    el('h2', named(metric.name)),
    el('p.meaning', metric.title),
    el('p.mean', figure(worstFirst(metric.name), percent(metric.mean, units)), ' ', interval),
    strip(metric, (bin) => {
      go(
        filterOf({
          sort: metric.name,
          ranges: { [metric.name]: [bin / 20, bin === 19 ? 1 : (bin + 1) / 20 - 0.0001] },
        }),
      );
      showRecords();
    }),
    el('p.coverage', coverage(metric)),
  );
}

/** The words after a number of records, by status. @type {Record<string, string>} */
const WITHOUT = {
  partial: 'partly judged',
  empty: 'empty',
  missing_field: 'missing a field',
  judge_failed: 'where the judge failed',
  disabled: 'switched off',
  set_aside: 'unreadable',
};

/** The number of scored records, why others have no value, and the possible mean. @param {any} metric */
function coverage(metric) {
  /** @type {Child[]} */
  const parts = [`${count(metric.scored)} of ${count(metric.total)} scored`];
  const statuses = [...Object.entries(metric.statuses), ['set_aside', first.set_aside]];
  for (const [status, number] of statuses) {
    if (status === 'scored' || !number) continue;
    const judged = status === 'set_aside' ? '' : metric.name;
    parts.push(figure({ status, judged }, `${count(number)} ${WITHOUT[status] || status}`));
  }
  if (metric.low !== null && points(metric.low, metric.scored) !== points(metric.high, metric.scored)) {
    parts.push(`could be ${between(metric.low, metric.high, metric.scored)}% if all units were judged`);
  }
  if (metric.outcomes) {
    const least = metric.threshold === null ? '' : ` (min ${percent(metric.threshold)})`;
    parts.push(`${count(metric.outcomes.PASSED || 0)} passed${least}`);
  }
  if (metric.repeats && metric.repeats.flip_rate !== null)
    parts.push(`${percent(metric.repeats.flip_rate, metric.repeats.units)} of verdicts change when asked again`);
  return parts.flatMap((part, place) => (place ? [' \u00b7 ', part] : [part]));
}

function nothingScored() {
  const failed = first.missing.some((cause) => cause.status === 'judge_failed');
  return el(
    'div.empty',
    el('p', 'There is no value to show; the reasons are below.'),
    failed
      ? el('p', 'To see what the judge replied: ', el('code', command(`ragstone formats ${first.run}`, first.store)))
      : el('p', 'To list the metrics that the records allow: ', el('code', 'ragstone validate FILE')),
  );
}

function factsBlock() {
  /** @type {Node[]} */
  const rows = [];
  let before = '';
  for (const fact of first.facts) {
    rows.push(
      el('dt', fact.label === before ? '' : fact.label),
      el('dd', foreign(fact.text), fact.note ? el('span.note', foreign(fact.note)) : null),
    );
    before = fact.label;
  }
  return el(
    'div',
    { class: 'facts', role: 'group', 'aria-label': 'Judges and cost' },
    el('dl', rows, labelFacts()),
    stepsChart(),
  );
}

/** Annotators who labelled in the served pages, and a link to label. */
function labelFacts() {
  if (!first.labels) return null;
  return [
    el('dt', { class: first.labels.length ? null : 'screen' }, 'Labels'),
    first.labels.map((one) =>
      el('dd', foreign(`${count(one.labels)} by ${one.annotator || 'no name'}`), el('span.note', foreign(one.command))),
    ),
    el('dd.screen', el('a', { href: `${first.root}run/${first.run}/label/` }, 'Label a sample')),
  ];
}

/** Cost and time of calls by step: two bars each, scaled to the largest. */
function stepsChart() {
  const judges = shortJudges([...new Set(first.steps.map((one) => one.judge))]);
  const steps = first.steps.map((one) => ({
    ...one,
    each: one.calls && one.seconds !== undefined ? one.seconds / one.calls : null,
  }));
  if (!steps.length) return null;
  const bar = (of, value, said) =>
    el('td.number', said, thinBar((value || 0) / Math.max(1e-9, ...steps.map((one) => one[of] || 0))));
  const paid = steps.some((one) => one.dollars);
  return el(
    'table.plain.by-step',
    el('caption', 'By step'),
    tableHead(columnHead('Step'), columnHead(paid ? 'Cost' : 'Calls', 'number'), columnHead('Time per call', 'number')),
    el(
      'tbody',
      steps.map((one) =>
        tableRow(
          [one.step.replaceAll('_', ' '), el('span.note', foreign(judges[one.judge]))],
          paid ? bar('dollars', one.dollars, dollars(one.dollars)) : bar('calls', one.calls, count(one.calls)),
          bar(
            'each',
            one.each,
            one.each === null
              ? DASH
              : one.each < 1
                ? `${Math.round(1000 * one.each)}${NBSP}ms`
                : `${one.each.toFixed(1)}${NBSP}s`,
          ),
        ),
      ),
    ),
  );
}

/** A table of all metrics, if there are more than cards. */
function everyMetric() {
  if (scored.length <= 6 && scored.length === first.metrics.length) return null;
  const rows = first.metrics.map((metric) =>
    el(
      'tr',
      { class: metric.scored ? null : 'without' },
      el(
        'th',
        { scope: 'row' },
        metric.scored ? figure(worstFirst(metric.name), named(metric.name)) : named(metric.name),
      ),
      el('td.number', percent(metric.mean, metric.scored)),
      el(
        'td.number.soft',
        metric.interval ? `(${between(metric.interval[0], metric.interval[1], metric.scored)})` : '',
      ),
      whiskerCell(metric.mean, metric.interval),
      el('td.number', `${count(metric.scored)} of ${count(metric.total)}`),
      el('td.written', metric.title),
    ),
  );
  const head = tableHead(
    columnHead('Metric'),
    ['Mean', '95% CI', unseen('Chart'), 'Scored'].map((title) => columnHead(title, 'number')),
    columnHead('What the value means'),
  );
  const table = el('table.plain', head, el('tbody', rows));
  return section('every', 'every', 'Every metric', wide('All metrics as a table', table));
}

/** Ordinary and nugget scores, if the run has both. */
function methodsBlock() {
  const methods = first.methods || {};
  if (Object.values(methods).every((found) => found.difference === null)) return null;
  return section('every', 'methods', 'Ordinary and nugget scores', methodsTable(methods));
}

/** Missing and partial scores, by cause. */
function missingBlock() {
  const causes = first.missing;
  const left = Object.entries(first.left_out);
  if (!causes.length && !left.length && !first.notes.length) return null;
  const rows = causes.slice(0, 12).map((cause) => {
    const names = cause.metrics.map(spoken).join(', ');
    return el(
      'li',
      figure({ status: cause.status, judged: cause.of, reason: cause.reason }, plural(cause.count, 'record'), 'number'),
      el(
        'span',
        el('b', STATUS[cause.status] || cause.status),
        cause.reason && cause.status !== 'set_aside' ? [' (', foreign(cause.reason), ')'] : null,
        el('span.note', cause.what && names !== 'all metrics' ? `${cause.what} for ${names}` : cause.what || names),
      ),
    );
  });
  return section(
    'missing',
    'missing',
    causes.length ? 'Missing or partial scores' : 'Notes on this run',
    rows.length ? el('ul.causes', rows) : null,
    causes.length > 12 ? el('p.note', `and ${plural(causes.length - 12, 'more cause')}, in summary.json`) : null,
    first.notes.length
      ? el(
          'ul.left-out',
          first.notes.map((line) => el('li', foreign(line))),
        )
      : null,
    left.length
      ? el(
          'details.left-out',
          el('summary', `${plural(left.length, 'metric')} skipped`),
          el(
            'ul',
            left.map(([name, why]) => el('li', `${named(name)}: `, foreign(why))),
          ),
        )
      : null,
  );
}
