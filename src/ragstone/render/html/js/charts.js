// Charts: a scale from 0 to 1 with a distribution, a mean with its interval, and bars.

const STRIP = { width: 240, bins: 34, height: 62 };

/**
 * A distribution in 20 bins above the mean and its interval, on one scale.
 * @param {any} metric
 * @param {(bin: number) => void} open called when a bin is clicked; the filters offer the same by keyboard
 */
function strip(metric, open) {
  const bins = binsOf(metric);
  const most = Math.max(1, ...bins);
  const wide = STRIP.width / bins.length;
  const base = STRIP.bins + 4;
  const bars = bins.map((size, bin) => {
    if (!size) return null;
    const tall = Math.max(1.5, (STRIP.bins * size) / most);
    return draw(
      'g',
      { class: 'bin', on: { click: () => open(bin) } },
      draw('title', `${between(bin / 20, (bin + 1) / 20)}%: ${plural(size, 'record')}`),
      draw('rect', { x: bin * wide, y: 0, width: wide, height: base, class: 'reach' }),
      draw('rect', { x: bin * wide + 0.75, y: base - tall, width: wide - 1.5, height: tall }),
    );
  });
  return draw(
    'svg',
    {
      class: 'strip',
      viewBox: `-5 0 ${STRIP.width + 10} ${STRIP.height}`,
      role: 'img',
      'aria-label': stripInWords(metric),
    },
    bars,
    draw('line', { x1: 0, x2: STRIP.width, y1: base + 0.5, y2: base + 0.5, class: 'axis' }),
    metric.mean === null ? null : whisker(metric.mean, metric.interval, STRIP.width, base + 10),
    draw('text', { x: 0, y: STRIP.height - 1, class: 'tick' }, '0'),
    draw('text', { x: STRIP.width, y: STRIP.height - 1, class: 'tick', 'text-anchor': 'end' }, '100'),
  );
}

/** Records by value, in 20 bins; a served page counts them once all rows are loaded. @param {any} metric */
function binsOf(metric) {
  if (metric.bins) return metric.bins;
  const bins = new Array(20).fill(0);
  if (!table.complete) return bins;
  for (const value of table.values[metric.name] || [])
    if (typeof value === 'number') bins[Math.min(19, Math.floor(value * 20))]++;
  return (metric.bins = bins);
}

function stripInWords(metric) {
  const low = binsOf(metric)
    .slice(0, 10)
    .reduce((sum, size) => sum + size, 0);
  return `Distribution: ${plural(low, 'record')} below 50%, ${plural(metric.scored - low, 'record')} at 50% or more`;
}

/**
 * @param {number} mean
 * @param {[number, number] | null} interval
 * @param {number} width
 * @param {number} y
 * @param {string} [kind]
 */
function whisker(mean, interval, width, y, kind = '') {
  return draw(
    'g',
    { class: `whisker ${kind}` },
    interval && draw('line', { x1: interval[0] * width, x2: interval[1] * width, y1: y, y2: y }),
    draw('circle', { cx: mean * width, cy: y, r: 4 }),
  );
}

/** A cell with a mean and its interval on a scale. @param {number | null} mean @param {[number, number] | null} interval */
function whiskerCell(mean, interval) {
  return el(
    'td.drawn',
    mean !== null &&
      draw(
        'svg',
        { viewBox: '-5 0 170 14', 'aria-hidden': 'true' },
        draw('line', { x1: 0, x2: 160, y1: 7, y2: 7, class: 'axis' }),
        whisker(mean, interval, 160, 7),
      ),
  );
}

/** A thin bar from 0 to a value, beside a number. @param {number} value */
function thinBar(value) {
  return el('span', { class: 'bar', 'aria-hidden': 'true' }, el('span', { css: { width: `${value * 100}%` } }));
}

/** What the colours mean. */
const TONES = 'red is worse, blue is better';

/**
 * The colour of a value: one for the lower and one for the upper half, stronger further from the middle; none for a 0
 * in an exclusive column, which is neither good nor bad. @param {number} value @param {string} score
 */
function tone(value, score) {
  const wrong = bestAtZero(score) ? value > 0.5 : value < 0.5;
  const share = measureOf(score).exclusive && !value ? 0 : Math.abs(2 * value - 1);
  return { '--tone': `var(--${wrong ? 'wrong' : 'good'})`, '--share': String(share) };
}
