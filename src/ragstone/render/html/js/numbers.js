// Format numbers for people, with the same rules as in the terminal.

const DASH = '\u2013';
const NBSP = '\u00a0';

/** @param {number} size not negative @param {number} digits */
function halvesUp(size, digits) {
  return Math.floor((size + 100 * 1e-9) * 10 ** digits + 0.5) / 10 ** digits;
}

/**
 * A percentage without its sign: no decimals below 1,000 units, one from 1,000 on, and `more`. A value below 1 is never
 * rounded to 100, nor one above 0 to 0.
 * @param {number} value from 0 to 1 @param {number} [units] @param {number} [more]
 */
function points(value, units = 0, more = 0) {
  const digits = (units >= 1000 ? 1 : 0) + more;
  const step = 10 ** -digits;
  let shown = halvesUp(100 * value, digits);
  if (shown >= 100 && value * 100 < 100) shown = 100 - step;
  else if (shown <= 0 && value > 0) shown = step;
  return shown.toFixed(digits);
}

/**
 * How many more decimals an interval needs so that it does not look like a point.
 * @param {[number, number] | null | undefined} ends @param {number} units
 */
function finer(ends, units) {
  const fitting = [0, 1, 2, 3, 4].filter((more) => ends && points(ends[0], units, more) !== points(ends[1], units, more));
  return fitting[0] || 0;
}

/** @param {number | null | undefined} value @param {number} [units] @param {[number, number] | null} [ends] */
function percent(value, units = 0, ends = null) {
  return value === null || value === undefined ? '\u2013' : `${points(value, units, finer(ends, units))}%`;
}

/** @param {number} low @param {number} high @param {number} [units] */
function between(low, high, units = 0) {
  const more = finer([low, high], units);
  return `${points(low, units, more)}${DASH}${points(high, units, more)}`;
}

/** @param {number} number */
function count(number) {
  return number.toLocaleString('en-US');
}

/** @param {number} number @param {string} one @param {string} [many] */
function plural(number, one, many = `${one}s`) {
  return `${count(number)}${NBSP}${number === 1 ? one : many}`;
}

/** @param {number | null | undefined} amount in dollars; null means unknown, not 0 */
function dollars(amount) {
  if (amount === null || amount === undefined) return 'cost unknown';
  if (amount === 0) return 'free';
  if (amount < 0.000001) return 'under $0.000001';
  const digits = amount >= 0.1 ? 2 : amount >= 0.01 ? 3 : amount >= 0.001 ? 4 : 6;
  return `$${amount.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

/** A difference with its sign; none for 0.0. @param {number} difference in points */
function signed(difference) {
  const shown = halvesUp(Math.abs(difference), 1);
  return `${!shown ? '' : difference > 0 ? '+' : '\u2212'}${shown.toFixed(1)}`;
}

/** A date and time in the reader's time zone. @param {number} seconds since 1970 */
function moment(seconds) {
  const at = new Date(seconds * 1000);
  const day = at.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric' });
  return `${day}, ${at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })}`;
}

/**
 * The mean with its 95% interval: a bootstrap with a fixed seed below 1,000 values, else a normal interval.
 * @param {number[]} values one or more
 * @returns {{mean: number, low: number, high: number, count: number, known: boolean}}
 */
function meanInterval(values) {
  const size = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / size;
  const [least, most] = extremes(values);
  if (size < 2 || least === most) return { mean, low: mean, high: mean, count: size, known: false };
  if (size >= 1000) {
    const half = (1.959964 * spreadOf(values)) / Math.sqrt(size);
    return { mean, low: Math.max(mean - half, least), high: Math.min(mean + half, most), count: size, known: true };
  }
  const random = chooser(20241121);
  const means = new Float64Array(1000);
  for (let times = 0; times < 1000; times++) {
    let sum = 0;
    for (let drawn = 0; drawn < size; drawn++) sum += values[Math.floor(random() * size)];
    means[times] = sum / size;
  }
  means.sort();
  return { mean, low: means[25], high: means[974], count: size, known: true };
}

/** The sample standard deviation; 0 for fewer than two values. @param {number[]} values */
function spreadOf(values) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, values.length - 1));
}

/** @param {number[]} values @returns {[number, number]} */
function extremes(values) {
  let least = Infinity,
    most = -Infinity;
  for (const value of values) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return [least, most];
}

/** A reproducible random number generator from 0 to 1 (mulberry32). @param {number} seed */
function chooser(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
