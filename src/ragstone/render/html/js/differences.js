// The metrics of both runs, one per row: both means, the difference on a shared scale, numbers of changed records, and
// the finding.

/** Possible half-widths of the scale of differences, in points. */
const REACHES = [1, 2, 5, 10, 20, 50, 100];
const PLOT = { width: 240, height: 20, middle: 10, edge: 6 };

/** The smallest half-width of the scale on which every interval fits. @param {any[]} metrics */
function reachOf(metrics) {
  const ends = metrics.flatMap((one) =>
    one.paired ? [one.paired.difference, one.paired.low || 0, one.paired.high || 0, shownBand(one)] : [],
  );
  const most = Math.max(0, ...ends.map((end) => Math.abs(100 * end)));
  return REACHES.find((reach) => reach >= most - 1e-9) || 100;
}

/** If no difference was found: the smallest one that could have been detected; else 0. @param {any} one */
function shownBand(one) {
  return one.finding === 'none' && one.smallest !== null ? Math.min(1, one.smallest) : 0;
}

/** Both means on a scale from 0 to 100: a ring for the first, a dot for the second. @param {any} one */
function dotPair(one) {
  const at = (value) => PLOT.edge + value * (140 - 2 * PLOT.edge);
  const { first: before, second: after } = one.paired;
  return draw(
    'svg',
    { class: `pair-plot ${one.worth || one.finding}`, viewBox: `0 0 140 ${PLOT.height}`, 'aria-hidden': 'true' },
    draw('line', { x1: at(0), x2: at(1), y1: PLOT.middle, y2: PLOT.middle, class: 'axis' }),
    draw('line', { x1: at(before), x2: at(after), y1: PLOT.middle, y2: PLOT.middle, class: 'way' }),
    draw('circle', { cx: at(before), cy: PLOT.middle, r: 4, class: 'before' }),
    draw('circle', { cx: at(after), cy: PLOT.middle, r: 4.5, class: 'after' }),
  );
}

/**
 * The difference with its interval; if none was found, with a band of undetectable differences.
 * @param {any} one
 * @param {number} reach
 */
function differencePlot(one, reach) {
  const at = (value) => PLOT.width / 2 + ((100 * value) / reach) * (PLOT.width / 2 - PLOT.edge);
  const { difference, low, high } = one.paired;
  const band = shownBand(one);
  return draw(
    'svg',
    {
      class: `difference-plot ${one.worth || one.finding}`,
      viewBox: `0 0 ${PLOT.width} ${PLOT.height}`,
      'aria-hidden': 'true',
    },
    band ? draw('rect', { x: at(-band), width: at(band) - at(-band), y: 2, height: 16, class: 'band' }) : null,
    draw('line', { x1: at(-reach / 100), x2: at(reach / 100), y1: PLOT.middle, y2: PLOT.middle, class: 'axis' }),
    draw('line', { x1: at(0), x2: at(0), y1: 0, y2: PLOT.height, class: 'zero' }),
    low === null ? null : draw('line', { x1: at(low), x2: at(high), y1: PLOT.middle, y2: PLOT.middle, class: 'reach' }),
    one.worth === 'worse'
      ? draw('path', { d: `M${at(difference)} 5.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z`, class: 'found' })
      : draw('circle', { cx: at(difference), cy: PLOT.middle, r: 4, class: 'found' }),
  );
}

/** The numbers of better, same and worse records, below a bar of three parts. @param {any} one */
function threeWays(one) {
  const [better, same, worse] = one.ways;
  /** @type {[string, number][]} */
  const ways = [
    ['better', better],
    ['same', same],
    ['worse', worse],
  ];
  return [
    el(
      'span',
      { class: 'ways', 'aria-hidden': 'true' },
      ways.map(([way, size]) =>
        size ? el('span', { class: way, css: { width: `${(100 * size) / one.paired.pairs}%` } }) : null,
      ),
    ),
    el(
      'span.counts',
      ways.map(([way, size]) => el('span', { class: size ? null : 'none' }, `${count(size)} ${way}`)),
    ),
  ];
}

/** The block of a metric: several columns of one metric are grouped, and so are nuggets. @param {any} one */
function blockOf(one) {
  if (one.unit === 'nugget') return 'Individual nuggets';
  const name = metricOf(one.metric);
  const columns = first.metrics.filter((other) => metricOf(other.metric) === name);
  return columns.length > 1 ? named(name) : '';
}

/** @param {any} one @param {string} block */
function rowName(one, block) {
  if (one.unit === 'nugget') return one.metric === 'nuggets' ? 'all' : one.metric.split(' ')[0];
  return block ? one.metric.slice(one.metric.indexOf('.') + 1).replaceAll('_', ' ') : named(one.metric);
}

/**
 * A table cell with an explicit role, because on narrow screens rows are no longer displayed as rows.
 * @param {string} kind
 * @param {any} label
 * @param {...any} children
 */
function cell(kind, label, ...children) {
  return el(
    'td',
    { class: kind, role: 'cell' },
    label ? el('span', { class: 'of', 'aria-hidden': 'true' }, label) : null,
    children,
  );
}

/** @param {any} one @param {string} block @param {number} reach */
function differenceRow(one, block, reach) {
  const [before, after] = first.sides;
  const words = one.worth ? el('b', one.said) : one.said;
  const head = el(
    'th',
    { scope: 'row', role: 'rowheader', class: block ? 'inner' : null },
    block ? unseen(`${block}: `) : null,
    first.moved[one.metric]
      ? el('a', { href: `#moved=${one.metric}`, title: 'Records with the largest changes' }, rowName(one, block))
      : rowName(one, block),
  );
  if (!one.paired)
    return el('tr', { role: 'row', class: 'nothing' }, head, el('td', { role: 'cell', colspan: 8 }, words));
  const whole = one.paired.pairs === first.shared || one.unit === 'nugget';
  const [difference, from, to] = one.points;
  return el(
    'tr',
    { role: 'row', class: one.worth || one.finding },
    head,
    cell('number level', foreign(before.label), percent(one.paired.first, one.paired.pairs)),
    cell('drawn', '', dotPair(one)),
    cell('number level', foreign(after.label), percent(one.paired.second, one.paired.pairs)),
    cell('number points', 'points', one.worth ? el('b', difference) : difference),
    cell(
      'apart',
      reachTicks(reach),
      differencePlot(one, reach),
      el('span.told', words, !from ? null : el('span.soft', ` \u00b7 95% CI ${from}${NBSP}to${NBSP}${to}`)),
    ),
    cell('went', '', threeWays(one)),
    cell('number chance', 'p', one.p || el('span.soft', DASH, unseen('not tested'))),
    cell(
      'number pairs',
      `${one.unit}s`,
      count(one.paired.pairs),
      whole ? null : el('span.note', `of ${count(first.shared)}`),
    ),
  );
}

/** The labels at the ends and the middle of a scale, above the plot. @param {(string | number)[]} marks */
function ticks(...marks) {
  return el(
    'span',
    { class: 'ticks', 'aria-hidden': 'true' },
    marks.map((mark) => el('span', mark)),
  );
}

/** The scale of differences. @param {number} reach in points */
function reachTicks(reach) {
  return ticks(`\u2212${reach}`, 0, `+${reach}`);
}

/** The table of all metrics. */
function differencesTable() {
  const reach = reachOf(first.metrics);
  const [before, after] = first.sides.map((side) => side.label);
  const blocks = Map.groupBy(first.metrics, blockOf);
  const titles = [
    ['', 'Metric'],
    ['number', foreign(before)],
    ['drawn', [unseen('Chart'), ticks(0, 100)]],
    ['number', foreign(after)],
    ['number', 'Points'],
    ['apart', ['Difference and its interval', reachTicks(reach)]],
    ['went', 'Direction of change'],
    ['number', 'p'],
    ['number', 'Pairs'],
  ];
  return el(
    'table',
    { class: 'differences', role: 'table', 'aria-labelledby': 'differences' },
    tableHead(titles.map(([kind, title]) => columnHead(title, kind || null))),
    [...blocks].map(([block, rows]) =>
      el(
        'tbody',
        { role: 'rowgroup' },
        block
          ? el(
              'tr',
              { role: 'row', class: 'block' },
              el('th', { scope: 'rowgroup', role: 'rowheader', colspan: 9 }, block),
            )
          : null,
        rows.map((one) => differenceRow(one, block, reach)),
      ),
    ),
  );
}

/** The groups of the leading metric, lowest difference on top. */
function groupsTable() {
  if (!first.groups.length) return null;
  const reach = reachOf(first.groups.map((group) => ({ paired: { difference: group.difference } })));
  const title = `${named(first.leading)} by ${first.by}`;
  const rows = first.groups.map((group) =>
    tableRow(
      foreign(group.name),
      el('td.number', percent(group.first, group.pairs)),
      el('td.number', percent(group.second, group.pairs)),
      el('td.number', signed(100 * group.difference)),
      el('td.apart', differencePlot({ finding: '', paired: { ...group, low: null, high: null } }, reach)),
      el('td.number', count(group.pairs)),
    ),
  );
  const most =
    first.groups_in_all > rows.length
      ? `The ${count(rows.length)} of ${count(first.groups_in_all)} groups with the largest differences. `
      : '';
  const head = tableHead(
    columnHead('Group'),
    [...first.sides.map((side) => side.label), 'Points'].map((one) => columnHead(one, 'number')),
    columnHead([unseen('Chart'), reachTicks(reach)], 'apart'),
    columnHead('Pairs', 'number'),
  );
  return section(
    'apart-groups',
    'groups',
    foreign(title),
    el('p.note', `${most}Means of the records with a value in both runs. Only the overall difference was tested.`),
    wide(title, el('table.plain', head, el('tbody', rows))),
  );
}
