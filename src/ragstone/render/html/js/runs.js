// The runs of a store: the trend of each metric, and a list in which two runs can be selected for comparison.

const page = document.getElementById('page');
/** @type {Set<number>} runs to compare, at most two */
const picked = new Set();
const TREND = { width: 280, height: 64, edge: 8, scale: 24, top: 4, bottom: 60 };
const CHARTS = 6;
const COLUMNS = 4;

/** The runs that match a search, latest first. @param {string} words */
function runsLeft(words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return first.runs.filter((run) => {
    const text = [run.name, run.status, ...run.judges, `#${run.run}`].join(' ').toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

/** The metrics that most of these runs have, in page order. @param {any[]} runs @param {number} most */
function metricsOf(runs, most) {
  const counts = first.metrics.map((name) => runs.filter((run) => run.metrics[name]).length);
  const enough = Math.max(0, [...counts].sort((a, b) => b - a)[most - 1] || 0);
  return first.metrics.filter((_, at) => counts[at] && counts[at] >= enough).slice(0, most);
}

/**
 * The latest comparable runs for a metric, oldest first: with the same name (ignoring numbers at its end), input,
 * number of records and signature.
 * @param {any[]} runs latest first @param {string} metric @returns {{ alike: any[], others: number }}
 */
function trendOf(runs, metric) {
  const made = runs.filter((run) => run.metrics[metric]);
  /** @type {Map<string, any[]>} */
  const groups = new Map();
  for (const run of made) {
    const key = JSON.stringify([run.name.replace(/[^\p{L}]+$/u, ''), run.input, run.records, run.metrics[metric][4]]);
    groups.set(key, [run, ...(groups.get(key) || [])]);
  }
  const alike = [...groups.values()].find((group) => group.length > 1) || [];
  return { alike, others: made.length - alike.length };
}

/** The trend of a metric; null if no two runs are comparable. @param {any[]} runs @param {string} metric */
function trendChart(runs, metric) {
  const { alike, others } = trendOf(runs, metric);
  if (!alike.length) return null;
  const { width, height, edge, scale, top, bottom } = TREND;
  const right = width - scale;
  const across = (at) => edge + (at * (right - 2 * edge)) / (alike.length - 1);
  const up = (value) => bottom - value * (bottom - top);
  const points = alike.map((run, at) => ({
    run,
    x: across(at),
    mean: run.metrics[metric][0],
    entry: run.metrics[metric],
  }));
  const last = points[points.length - 1];
  const before = points[points.length - 2];
  const gain = 100 * (last.mean - before.mean);
  return el(
    'article.card',
    el('h3', named(metric)),
    el(
      'p.mean',
      percent(last.mean, last.entry[3]),
      ' ',
      el('span.interval', `${Math.abs(gain) < 0.05 ? 'unchanged' : `${signed(gain)} points`} since run ${before.run.run}`),
    ),
    draw(
      'svg',
      { class: 'trend', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': trendInWords(metric, points) },
      [0, 0.5, 1].map((value) => [
        draw('line', { x1: 0, x2: right, y1: up(value), y2: up(value), class: 'grid' }),
        draw('text', { x: width, y: up(value) + 3 }, String(100 * value)),
      ]),
      draw('polyline', { points: points.map(({ x, mean }) => `${x},${up(mean)}`).join(' '), class: 'way' }),
      points.map(({ x, mean, entry, run }) => [
        entry[1] === null ? null : draw('line', { x1: x, x2: x, y1: up(entry[1]), y2: up(entry[2]), class: 'reach' }),
        draw(
          'circle',
          { cx: x, cy: up(mean), r: points.length > 20 ? 2.5 : 4 },
          draw('title', seen(`${run.name}, run ${run.run}: ${percent(mean, entry[3])}`)),
        ),
      ]),
    ),
    el('p.ends', el('span', `run ${points[0].run.run}`), el('span', `run ${last.run.run}`)),
    el(
      'p.coverage',
      `${count(points.length)} runs with the same input, signature and name (a number at its end does not count).${others ? ` Not shown: ${plural(others, 'other run')}.` : ''}`,
    ),
  );
}

/** @param {string} metric @param {any[]} points */
function trendInWords(metric, points) {
  const said = points.slice(-5).map(({ run, mean, entry }) => `run ${run.run} ${percent(mean, entry[3])}`);
  return `${named(metric)}: ${said.join(', ')}`;
}

const words = el('input', {
  type: 'search',
  id: 'search',
  placeholder: 'name, judge, status',
  autocomplete: 'off',
  on: { input: () => drawRuns() },
});
const trends = el('section', { class: 'trends', 'aria-labelledby': 'trends' });
const chosen = el('p', { class: 'shown', role: 'status' });
const list = wide('Runs, a table');

function drawRuns() {
  const runs = runsLeft(words.value);
  const names = metricsOf(runs, CHARTS);
  const cards = names.map((name) => trendChart(runs, name)).filter(Boolean);
  trends.hidden = !cards.length;
  refill(trends, cards.length ? [el('h2', { id: 'trends' }, 'Trend'), el('div.cards', cards)] : null);
  refill(
    list,
    runs.length
      ? runsTable(runs)
      : el(
          'p.empty',
          first.runs.length ? 'No run matches these words.' : 'No runs yet; to create one, run: ragstone run FILE',
        ),
  );
  drawChosen();
}

function drawChosen() {
  const [one, other] = [...picked].sort((a, b) => a - b);
  refill(
    chosen,
    other
      ? el(
          'a',
          { class: 'compare-link', href: `${first.root}compare/${one}/${other}/` },
          `Compare run ${one} and run ${other} side by side`,
        )
      : `${words.value.trim() ? `${count(runsLeft(words.value).length)} of ` : ''}${first.all > first.runs.length ? `the latest ${count(first.runs.length)} of ` : ''}${plural(first.all, 'run')}${first.all > 1 ? ', latest first' : ''}${first.all ? `; ${TONES}` : ''}.${first.all > 1 ? ' Select two to compare.' : ''}`,
  );
}

/** @param {any[]} runs */
function runsTable(runs) {
  const names = metricsOf(runs, COLUMNS);
  const paid = runs.some((run) => run.dollars);
  const main = runs.some((run) => run.lead && !names.includes(run.lead));
  return el(
    'table.plain.runs-table',
    { role: 'table' },
    tableHead(
      columnHead(unseen('Compare')),
      columnHead('Run'),
      ['Records', ...(paid ? ['Cost'] : []), ...(main ? ['Main metric'] : []), ...names.map(named)].map((title) =>
        columnHead(title, 'number'),
      ),
    ),
    el(
      'tbody',
      { role: 'rowgroup' },
      runs.map((run) => runRow(run, names, paid, main)),
    ),
  );
}

/** @param {any} run @param {string[]} names @param {boolean} paid @param {boolean} main */
function runRow(run, names, paid, main) {
  const lead = run.metrics[run.lead];
  const box = el('input', {
    type: 'checkbox',
    checked: picked.has(run.run),
    'aria-label': `Compare run ${run.run}, ${run.name}`,
    on: { change: () => pick(run.run, box.checked) },
  });
  /** @param {Child} title @param {Record<string, any> | null} more @param {...Child} said */
  const cell = (title, more, ...said) =>
    el('td.number', { role: 'cell', ...more }, el('span', { class: 'of', 'aria-hidden': 'true' }, title), said);
  return el(
    'tr',
    { role: 'row' },
    el('td', { role: 'cell' }, box),
    el(
      'th',
      { scope: 'row', role: 'rowheader' },
      el('a', { href: `${first.root}run/${run.run}/` }, foreign(run.name)),
      el(
        'span',
        { class: 'note', title: run.judges.join(', ') },
        foreign(
          [
            `run ${run.run}`,
            ...(run.command ? [run.command] : []),
            ...(run.status === 'done' ? [] : [run.status]),
            moment(run.started),
            shortJudged(run.judges),
          ].join(' \u00b7 '),
        ),
      ),
    ),
    cell('Records', null, count(run.records)),
    paid ? cell('Cost', null, run.dollars ? dollars(run.dollars) : DASH) : null,
    main ? cell('Main metric', null, lead ? percent(lead[0], lead[3]) : DASH, lead && el('span.note', named(run.lead))) : null,
    names.map((name) => {
      const entry = run.metrics[name];
      return entry
        ? cell(named(name), { class: 'number toned', css: tone(entry[0], name) }, percent(entry[0], entry[3]), thinBar(entry[0]))
        : cell(named(name), { class: 'number soft' }, DASH);
    }),
  );
}

/** Select or deselect a run; selecting a third one drops the first. @param {number} run @param {boolean} on */
function pick(run, on) {
  picked.delete(run);
  if (on) picked.add(run);
  if (picked.size > 2) picked.delete([...picked][0]);
  for (const box of list.querySelectorAll('input'))
    box.checked = picked.has(Number(/\d+/.exec(box.ariaLabel || '')?.[0]));
  drawChosen();
}

refill(
  page,
  el('header.top', el('span.wordmark', 'Ragstone'), lookButton()),
  el(
    'main.sheet.runs-list',
    el('header.title', el('h1', { id: 'title' }, 'Runs'), el('p.about', foreign(first.store))),
    el('div.filters', el('label.choice.search', el('span', 'Search'), words)),
    trends,
    el('section', { class: 'records', 'aria-labelledby': 'all' }, el('h2', { id: 'all' }, 'All runs'), chosen, list),
  ),
);
drawRuns();
