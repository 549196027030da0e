// The words for metrics, verdicts and statuses, used consistently on the whole page.

/** @typedef {'no' | 'partly' | 'unjudged' | 'yes' | 'trivial'} Kind */

/** @type {Kind[]} worst first: a span with several verdicts shows the worst */
const WORST_FIRST = ['no', 'partly', 'unjudged', 'yes', 'trivial'];

/** The meanings of the bits of a row's verdicts; `apart`: judges of a panel disagree. */
const KINDS = [...WORST_FIRST, 'apart'];

/** @type {Record<Kind, string>} */
const SIGNS = { yes: '\u2713', partly: '~', no: '\u2717', unjudged: '?', trivial: '\u00b7' };

/** The choices of the verdict filter, whatever a metric calls its verdicts. @type {Record<string, string>} */
const VERDICTS = {
  no: `${SIGNS.no} no`,
  partly: `${SIGNS.partly} partly`,
  unjudged: `${SIGNS.unjudged} unjudged`,
  yes: `${SIGNS.yes} yes`,
  apart: 'judges disagree',
};

/** @type {Record<string, string>} */
const STATUS = {
  scored: 'scored',
  partial: 'partly judged',
  empty: 'empty',
  missing_field: 'a field is missing',
  judge_failed: 'the judge failed',
  disabled: 'switched off',
  set_aside: 'unreadable',
};

/**
 * A command with the option that locates the run's store; without it, it could show another run of that number.
 * @param {string} asked @param {string} store
 */
function command(asked, store) {
  return store ? `${asked} ${store}` : asked;
}

/**
 * The kind of a verdict, whatever its scale.
 * @param {{label: string | null, value?: number | null}} verdict
 * @returns {Kind}
 */
function kindOf(verdict) {
  if (verdict.label === null) return 'unjudged';
  if (verdict.label === 'trivial' || verdict.value === null || verdict.value === undefined) return 'trivial';
  return verdict.value >= 1 ? 'yes' : verdict.value <= 0 ? 'no' : 'partly';
}

/**
 * Short names of judges: `gpt-4o-mini` for `openai/gpt-4o-mini@HOST`, `human:a.jsonl` for `human:labels/a.jsonl`. Judges of the same model keep their host,
 * or else their whole name.
 * @param {string[]} names @returns {Record<string, string>}
 */
function shortJudges(names) {
  const short = names.map((name) => name.split('@')[0].replace(/[^:]*\//, '') || name);
  const hosts = names.map((name) => /@(?:\w+:\/\/)?([^/]+)/.exec(name)?.[1]);
  const hosted = names.map((name, place) => (hosts[place] ? `${short[place]}@${hosts[place]}` : name));
  const found = names.map(
    (name, place) =>
      [short, hosted, names].find((all) => all.indexOf(all[place]) === all.lastIndexOf(all[place]))?.[place],
  );
  return Object.fromEntries(names.map((name, place) => [name, found[place] || name]));
}

/** The short names of judges, in one line. @param {string[]} names */
function shortJudged(names) {
  return Object.values(shortJudges(names)).join(', ');
}

/** The metric of a score: `name` for `name.column` and `name (column, column)`. @param {string} score */
function metricOf(score) {
  return score.split(/\.| \(/)[0];
}

/**
 * The properties of a score's metric: its heading, the unit and the task of its verdicts, and the scores shown above a
 * record. @param {string} score
 */
function measureOf(score) {
  const name = metricOf(score);
  return Object.hasOwn(first.measures, name) ? first.measures[name] : { heading: name.replaceAll('_', ' ') };
}

/** Whether lower values of a score are better. @param {string} score */
function bestAtZero(score) {
  return measureOf(score).best_at_zero?.includes(score) || false;
}

/**
 * The distinct kinds and words of verdicts with their counts, worst first.
 * @param {{kind: Kind, word: string}[]} verdicts
 */
function tally(verdicts) {
  /** @type {Map<string, {kind: Kind, word: string, number: number}>} */
  const found = new Map();
  for (const { kind, word } of verdicts)
    found.set(kind + word, { kind, word, number: (found.get(kind + word)?.number || 0) + 1 });
  return [...found.values()].sort((a, b) => WORST_FIRST.indexOf(a.kind) - WORST_FIRST.indexOf(b.kind));
}

/** A metric's name as a heading. @param {string} metric */
function named(metric) {
  const { heading } = measureOf(metric);
  const column = metric.split('.')[1];
  return capital(column ? `${heading}: ${column.replaceAll('_', ' ')}` : heading);
}

/** A metric's name in a sentence or a narrow column. @param {string} metric */
function spoken(metric) {
  const column = metric.slice(metricOf(metric).length);
  return measureOf(metric).heading + column.replace('.', ' ').replaceAll('_', ' ');
}

/**
 * The sign of a verdict with its word, which screen readers read even if it is not visible.
 * @param {Kind} kind
 * @param {string} word
 */
function verdictSign(kind, word) {
  const sign = el('span', { class: `sign ${kind}`, 'aria-hidden': 'true' }, SIGNS[kind]);
  return el('span.verdict', sign, ` ${word}`);
}
