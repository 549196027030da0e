// Scatter plot of two metrics: a dot per record, larger for coinciding records; drawing a box filters.

const PLOT = { size: 440, left: 40, bottom: 36, top: 14, right: 14, tall: 0.66 };
const CELLS = 50;

function scatterView() {
  const below = el('p.note');
  const choices = el(
    'div.choices',
    metricChoice('X axis', now.x, (x) => slide({ x, ranges: {} })),
    metricChoice('Y axis', now.y, (y) => slide({ y, ranges: {} })),
  );
  return el(
    'section',
    { class: 'scatter', 'aria-labelledby': 'scatter' },
    el('h3', { id: 'scatter' }, 'Two metrics, record by record'),
    table.complete ? [choices, plot(below), below] : el('p.empty', 'Reading\u2026'),
  );
}

/** @param {HTMLElement} below */
function plot(below) {
  const { size, left, bottom, top, right } = PLOT;
  const tall = size * PLOT.tall;
  const width = left + size + right,
    height = top + tall + bottom;
  const across = (value) => left + value * size;
  const up = (value) => top + (1 - value) * tall;
  const { dots, without } = dotsKept(now.x, now.y);
  const most = Math.max(1, ...dots.map((dot) => dot.lines.length));
  const kept = filtered(now) ? new Uint8Array(table.position.length) : null;
  if (kept) for (const line of matching(now)) kept[line] = 1;
  const marks = dots.map((dot) => {
    const inside = !kept || dot.lines.some((line) => kept[line]);
    return draw(
      'circle',
      {
        cx: across(dot.x),
        cy: up(dot.y),
        r: 2.5 + 9 * Math.sqrt((dot.lines.length - 1) / Math.max(most, 40)),
        class: inside ? 'dot' : 'dot out',
      },
      draw('title', dotInWords(dot)),
    );
  });
  const ticks = [0, 0.25, 0.5, 0.75, 1].flatMap((value) => [
    draw('line', { x1: across(value), x2: across(value), y1: top, y2: top + tall, class: 'grid' }),
    draw('line', { x1: left, x2: left + size, y1: up(value), y2: up(value), class: 'grid' }),
    draw('text', { x: across(value), y: top + tall + 15, class: 'tick', 'text-anchor': 'middle' }, value * 100),
    draw('text', { x: left - 7, y: up(value) + 3.5, class: 'tick', 'text-anchor': 'end' }, value * 100),
  ]);
  const brush = draw('rect', { class: 'brush', visibility: 'hidden' });
  const drawing = draw(
    'svg',
    { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': scatterInWords(dots) },
    ticks,
    marks,
    brush,
    draw(
      'text',
      { x: left + size, y: height - 6, class: 'tick name', 'text-anchor': 'end' },
      `${spoken(now.x)} \u2192`,
    ),
    draw('text', { x: left + 6, y: top + 13, class: 'tick name' }, `\u2191 ${spoken(now.y)}`),
  );
  const chosen = [now.ranges[now.x], now.ranges[now.y]];
  if (chosen[0] && chosen[1])
    placeBrush(brush, across(chosen[0][0]), up(chosen[1][1]), across(chosen[0][1]), up(chosen[1][0]));
  brushing(drawing, brush, (x, y) => ({ x: bounded((x - left) / size), y: bounded(1 - (y - top) / tall) }));
  const lost = without
    ? `${plural(without, 'record')} ${without === 1 ? 'is' : 'are'} left out: ${without === 1 ? 'it lacks' : 'they lack'} a score for one or both of these metrics. `
    : '';
  refill(below, `${lost}Drag a box around points to show only their records. You can also filter by score below.`);
  return drawing;
}

/** Cached, because filters do not move the dots. */
const dotsKept = remembering(dotsOf, () => table.position.length);

/** Records grouped by their cell on a fine grid. @param {string} x @param {string} y */
function dotsOf(x, y) {
  /** @type {Map<number, {x: number, y: number, lines: number[]}>} */
  const cells = new Map();
  let without = 0;
  const across = table.values[x] || [],
    up = table.values[y] || [];
  for (let line = 0; line < table.position.length; line++) {
    const a = across[line],
      b = up[line];
    if (typeof a !== 'number' || typeof b !== 'number') {
      without++;
      continue;
    }
    const key = Math.round(a * CELLS) * 1000 + Math.round(b * CELLS);
    const cell = cells.get(key);
    if (cell) cell.lines.push(line);
    else cells.set(key, { x: a, y: b, lines: [line] });
  }
  return { dots: [...cells.values()].sort((one, other) => other.lines.length - one.lines.length), without };
}

/** @param {{x: number, y: number, lines: number[]}} dot */
function dotInWords(dot) {
  const who = dot.lines.length === 1 ? table.id[dot.lines[0]] : plural(dot.lines.length, 'record');
  return `${who}: ${spoken(now.x)} ${percent(dot.x)}, ${spoken(now.y)} ${percent(dot.y)}`;
}

/** @param {{x: number, y: number, lines: number[]}[]} dots */
function scatterInWords(dots) {
  const found = { both: 0, first: 0, second: 0, neither: 0 };
  for (const { x, y, lines } of dots)
    found[x < 0.5 ? (y < 0.5 ? 'both' : 'first') : y < 0.5 ? 'second' : 'neither'] += lines.length;
  return (
    `${named(now.x)} across, ${named(now.y)} up: ${plural(found.both, 'record')} low in both, ` +
    `${found.first} low in the first only, ${found.second} low in the second only, ${found.neither} low in neither`
  );
}

/** @param {number} value */
function bounded(value) {
  return Math.min(1, Math.max(0, value));
}

/** @param {any} brush @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 */
function placeBrush(brush, x1, y1, x2, y2) {
  filled(
    brush,
    {
      x: Math.min(x1, x2),
      y: Math.min(y1, y2),
      width: Math.abs(x2 - x1),
      height: Math.abs(y2 - y1),
      visibility: 'visible',
    },
    [],
  );
}

/**
 * Let the user draw a box; a click without dragging removes it.
 * @param {any} drawing
 * @param {any} brush
 * @param {(x: number, y: number) => {x: number, y: number}} value
 */
function brushing(drawing, brush, value) {
  /** @type {{x: number, y: number} | null} */
  let from = null;
  const place = (event) => {
    const box = drawing.getBoundingClientRect(),
      view = drawing.viewBox.baseVal;
    return {
      x: ((event.clientX - box.left) * view.width) / box.width,
      y: ((event.clientY - box.top) * view.height) / box.height,
    };
  };
  drawing.addEventListener('pointerdown', (event) => {
    if (event.button || event.pointerType === 'touch') return;
    from = place(event);
    drawing.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  drawing.addEventListener('pointermove', (event) => {
    if (!from) return;
    const to = place(event);
    placeBrush(brush, from.x, from.y, to.x, to.y);
  });
  drawing.addEventListener('pointerup', (event) => {
    if (!from) return;
    const start = from,
      to = place(event),
      a = value(start.x, start.y),
      b = value(to.x, to.y);
    from = null;
    if (Math.abs(start.x - to.x) + Math.abs(start.y - to.y) < 6) go({ ranges: {}, page: 1 });
    else
      go({
        ranges: {
          [now.x]: [Math.min(a.x, b.x), Math.max(a.x, b.x)],
          [now.y]: [Math.min(a.y, b.y), Math.max(a.y, b.y)],
        },
        page: 1,
      });
  });
  drawing.addEventListener('pointercancel', () => {
    from = null;
  });
}
