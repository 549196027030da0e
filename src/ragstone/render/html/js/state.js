// The view is stored in the address, so that a filtered table or an open record can be shared as a link.

/**
 * @typedef {object} State
 * @property {string} q words that a record's texts contain
 * @property {string} status the status of any score, or set_aside
 * @property {string} field a field and its @property {string} value: records of one group
 * @property {string} below a metric whose value is below 1
 * @property {string} verdict a kind of verdict, or apart @property {string} judged the metric of the verdict or status
 * @property {string} reason why the score of this metric has this status
 * @property {Record<string, [number, number]>} ranges metric to lowest and highest value
 * @property {string} sort a metric, position or id @property {boolean} down highest first
 * @property {number} page from 1
 * @property {string} by field of the groups @property {string} of metric of the groups
 * @property {string} x @property {string} y metrics of the scatter
 * @property {number} record its position in the input; 0 for none @property {string} tab
 * @property {string} layer metric whose verdicts are underlined; empty for the tab's metric
 */

const FILTERS = ['q', 'status', 'field', 'value', 'below', 'verdict', 'judged', 'reason'];
/** The changes that clear every filter. */
const CLEAR = { q: '', status: '', field: '', value: '', below: '', verdict: '', judged: '', reason: '', ranges: {}, page: 1 };

/** @type {any[]} the metrics that have values, in card order */
const scored = first.metrics.filter((metric) => metric.scored);

/** @returns {State} */
function usual() {
  return {
    ...CLEAR,
    ranges: {},
    sort: first.ranked || 'position',
    down: false,
    by: first.fields[0] || '',
    of: first.lead || scored[0]?.name || '',
    x: scored[0]?.name || '',
    y: (scored[1] || scored[0])?.name || '',
    record: 0,
    tab: '',
    layer: '',
  };
}

/** @param {string} fragment @returns {State} */
function readState(fragment) {
  const given = new URLSearchParams(fragment.replace(/^#/, ''));
  const state = usual();
  const metrics = new Set(first.metrics.map((metric) => metric.name));
  for (const name of [...FILTERS, 'by', 'of', 'x', 'y', 'tab', 'layer']) {
    const text = given.get(name);
    if (text !== null) state[name] = text;
  }
  for (const name of ['of', 'x', 'y'])
    if (!metrics.has(state[name])) state[name] = usual()[name];
  if (!first.fields.includes(state.by)) state.by = usual().by;
  if (state.status !== 'set_aside' && !first.statuses.includes(state.status)) state.status = '';
  if (!KINDS.includes(state.verdict)) state.verdict = '';
  if (!metrics.has(state.judged)) state.judged = '';
  if (!state.status || !state.judged) state.reason = '';
  for (const text of given.getAll('in')) {
    const found = /^(.+):([0-9.]+)-([0-9.]+)$/.exec(text);
    if (found && metrics.has(found[1])) state.ranges[found[1]] = [Number(found[2]), Number(found[3])];
  }
  const sort = given.get('sort') || state.sort;
  state.down = sort.startsWith('-');
  state.sort = sort.replace(/^-/, '');
  if (!metrics.has(state.sort) && state.sort !== 'id') state.sort = 'position';
  state.page = Math.max(1, Math.trunc(Number(given.get('page'))) || 1);
  state.record = Math.max(0, Math.trunc(Number(given.get('record'))) || 0);
  return state;
}

/** @param {State} state @returns {string} a fragment with only the values that differ from the defaults */
function writeState(state) {
  const plain = usual();
  const told = new URLSearchParams();
  for (const name of [...FILTERS, 'by', 'of', 'x', 'y', 'tab', 'layer']) {
    const value = state[name];
    if (value && value !== plain[name]) told.set(name, value);
  }
  for (const [metric, [low, high]] of Object.entries(state.ranges))
    told.append('in', `${metric}:${Number(low.toFixed(4))}-${Number(high.toFixed(4))}`);
  if (state.sort !== plain.sort || state.down) told.set('sort', (state.down ? '-' : '') + state.sort);
  if (state.page > 1) told.set('page', String(state.page));
  if (state.record) told.set('record', String(state.record));
  return `#${told}`;
}

/** @type {State} the current view */
let now = readState(location.hash);

/** The current address with some changes. @param {Partial<State>} changes */
function address(changes) {
  return writeState({ ...now, ...changes });
}

/** Navigate, adding an entry to the browser history. @param {Partial<State>} changes */
function go(changes) {
  location.hash = address(changes);
}

/** Navigate without a history entry, e.g. for every letter of a search. @param {Partial<State>} changes */
function slide(changes) {
  history.replaceState(null, '', address(changes));
  window.dispatchEvent(new HashChangeEvent('hashchange'));
}

/**
 * The filter for a number of the first screen.
 * @param {Record<string, any>} to
 * @returns {Partial<State>}
 */
function filterOf(to) {
  const { sort = now.sort, ...rest } = to;
  return { ...CLEAR, ranges: {}, down: false, record: 0, ...rest, sort };
}
