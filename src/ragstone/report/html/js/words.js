// The words for metrics, verdicts and statuses: one word per thing, on every part of the page.

/** @typedef {'no' | 'partly' | 'unjudged' | 'yes' | 'trivial'} Kind */

/** @type {Kind[]} worst first: of several verdicts on one stretch, the first shows */
const WORST_FIRST = ['no', 'partly', 'unjudged', 'yes', 'trivial'];

/** @type {Record<Kind, string>} */
const SIGNS = { yes: '\u2713', partly: '~', no: '\u2717', unjudged: '?', trivial: '\u00b7' };

/** @type {Record<Kind, string>} */
const SUPPORT = {
  yes: 'supported',
  partly: 'partly supported',
  no: 'not supported',
  unjudged: 'unjudged',
  trivial: 'states nothing',
};
/** @type {Record<Kind, string>} */
const RELEVANCE = { ...SUPPORT, yes: 'relevant', partly: 'partly relevant', no: 'not relevant' };
/** @type {Record<Kind, string>} */
const HELD = { ...SUPPORT, yes: 'in the response', partly: 'partly in the response', no: 'not in the response' };
/** @type {Record<Kind, string>} */
const TRACED = { ...SUPPORT, no: 'not fully supported' };

/** @type {Record<string, string>} */
const STATUS = {
  scored: 'scored',
  partial: 'judged in part',
  empty: 'nothing to judge',
  missing_field: 'a field is missing',
  judge_failed: 'the judge failed',
  disabled: 'switched off',
  set_aside: 'could not be read',
};

/**
 * A command with what finds the run's store: without it, it would tell of another run of that number.
 * @param {string} asked @param {string} store
 */
function command(asked, store) {
  return store ? `${asked} ${store}` : asked;
}

/**
 * What a verdict is, whatever the scale.
 * @param {{label: string | null, value?: number | null}} verdict
 * @returns {Kind}
 */
function kindOf(verdict) {
  if (verdict.label === null) return 'unjudged';
  if (verdict.label === 'trivial' || verdict.value === null || verdict.value === undefined) return 'trivial';
  return verdict.value >= 1 ? 'yes' : verdict.value <= 0 ? 'no' : 'partly';
}

/** @param {Kind[]} kinds @returns {Kind} */
function worstOf(kinds) {
  return WORST_FIRST.find((kind) => kinds.includes(kind)) || 'trivial';
}

/** The words for the verdicts of a metric. @param {string} metric */
function wordsFor(metric) {
  if (metric.startsWith('nugget_recall')) return HELD;
  if (metric.startsWith('trace')) return TRACED;
  return metric.endsWith('relevance') ? RELEVANCE : SUPPORT;
}

/** A metric's name as a heading. @param {string} metric */
function named(metric) {
  const [name, column] = metric.split('.');
  const words = name === 'trace' ? 'TRACe' : name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ');
  return column ? `${words}: ${column.replaceAll('_', ' ')}` : words;
}

/** A metric's name inside a sentence or a narrow column. @param {string} metric */
function spoken(metric) {
  const [name, column] = metric.split('.');
  const words = name === 'trace' ? 'TRACe' : name.replaceAll('_', ' ');
  return column ? `${words} ${column.replaceAll('_', ' ')}` : words;
}

/**
 * The sign of a verdict with its word, which is read aloud where it is not seen.
 * @param {Kind} kind
 * @param {Record<Kind, string>} words
 * @param {boolean} [alone]
 */
function verdictSign(kind, words, alone = false) {
  const sign = el('span', { class: `sign ${kind}`, 'aria-hidden': 'true' }, SIGNS[kind]);
  return el('span', { class: 'verdict' }, sign, alone ? unseen(words[kind]) : ` ${words[kind]}`);
}
