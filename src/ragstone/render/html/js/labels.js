// An annotator's labels: a list with undo, saved in the browser after each change and exported as JSON lines. Nothing
// here draws.

/** @typedef {{record: string, at: number, place: number, id: string, hash: string, text?: string, response?: string}} LabelUnit */

/** @type {LabelUnit[]} all units of the sample, in labelling order */
const units = first.records.flatMap((record, at) =>
  record.units.map((unit, place) => ({
    ...unit,
    record: record.id,
    at,
    place,
  })),
);

/** Maximum number of seconds counted for one visit to a unit: the rest is a pause. */
const IDLE = 120;
/** Length of a request below which the browser finishes it after the page has closed (its limit is 64 KiB). */
const ALIVE = 20_000;
const KEPT_AS = `ragstone-label/${first.key}`;

/** Parse a line of a file as an object; null if it is not one. @param {string} line */
function parsed(line) {
  try {
    const found = JSON.parse(line);
    return found && typeof found === 'object' ? found : null;
  } catch {
    return null;
  }
}

class Labels {
  constructor() {
    this.annotator = '';
    /** @type {[number, string | null][]} units and labels in labelling order; the last label of a unit counts */
    this.given = [];
    /** @type {Record<string, number>} seconds by unit */
    this.spent = {};
    /** Why the labels are not being saved; empty while they are. */
    this.unkept = '';
    /** @type {Map<number, string | null>} */
    this.current = new Map();
    /** @type {Set<number>} units whose label, or lack of one, the server does not have yet */
    this.unsent = new Set();
    /** Whether the server's labels were fetched; none are sent before, so that nothing there is lost. */
    this.known = false;
    this.sending = false;
  }

  /** The key under which the browser saves the labels. */
  get key() {
    return `${KEPT_AS}/${this.annotator}`;
  }

  /** Load the labels of an annotator if this browser has any. @param {string} annotator */
  open(annotator) {
    const kept = this.stored(() => JSON.parse(localStorage.getItem(`${KEPT_AS}/${annotator}`) || 'null'));
    if (kept || annotator !== this.annotator) {
      this.given = kept?.given || [];
      this.spent = kept?.spent || {};
      this.unsent = new Set(kept?.unsent);
    }
    this.annotator = annotator;
    this.current = new Map(this.given);
    this.save();
  }

  /** The last annotator on this page; null if there is none. @returns {string | null} */
  last() {
    return this.stored(() => localStorage.getItem(KEPT_AS));
  }

  /** @param {number} unit @param {string | null} label @param {number} seconds */
  give(unit, label, seconds) {
    this.spend(unit, seconds);
    this.put(unit, label);
    this.save();
  }

  /** @param {number} unit @param {string | null} label */
  put(unit, label) {
    this.given.push([unit, label]);
    this.current.set(unit, label);
    this.unsent.add(unit);
  }

  /** Add the time of a visit to a unit. @param {number} unit @param {number} seconds */
  spend(unit, seconds) {
    this.spent[unit] = (this.spent[unit] || 0) + Math.min(seconds, IDLE);
  }

  /** Undo the last label and return its unit, or undefined if there is none. */
  undo() {
    const last = this.given.pop();
    this.current = new Map(this.given);
    if (last) this.unsent.add(last[0]);
    this.save();
    return last?.[0];
  }

  save() {
    this.unkept = '';
    if (first.root) this.send();
    this.store();
  }

  /** Save the labels in the browser. */
  store() {
    this.stored(() => {
      const { given, spent, unsent } = this;
      localStorage.setItem(this.key, JSON.stringify({ given, spent, unsent: [...unsent] }));
      localStorage.setItem(KEPT_AS, this.annotator);
    });
  }

  /** The path of the labels on this page's server. */
  get place() {
    return `data/labels-${encodeURIComponent(this.annotator)}`;
  }

  /** Get this annotator's labels from the server, which another browser may have changed. */
  async fetched() {
    const answer = await fetch(this.place).catch(() => null);
    if (answer?.ok) this.take(await answer.text(), this.unsent);
  }

  /** Send new labels to the server, one request at a time; labels of other browsers stay there. */
  async send() {
    if (this.sending || !this.known) return;
    this.sending = true;
    while (this.unsent.size) {
      const sent = new Map([...this.unsent].map((unit) => [unit, this.current.get(unit)]));
      const body = this.lines([...sent.keys()]);
      const keepalive = body.length < ALIVE;
      const answer = await fetch(this.place, { method: 'PUT', body, keepalive }).catch(() => null);
      if (!answer?.ok) {
        this.unkept = 'The server is not saving your labels; is ragstone view still running? Export before you leave.';
        say('');
        break;
      }
      for (const [unit, label] of sent) if (this.current.get(unit) === label) this.unsent.delete(unit);
    }
    this.sending = false;
    this.store();
  }

  /** Use the browser's storage; return null if it is blocked, full or corrupt. @param {() => any} ask */
  stored(ask) {
    try {
      return ask();
    } catch (error) {
      this.unkept = 'This browser is not saving your labels (its storage is full or blocked). Export before you leave.';
      return null;
    }
  }

  /** The next unit without a label, from a position, wrapping around; undefined if none. @param {number} from */
  next(from) {
    const order = units.map((_, place) => (from + place) % units.length);
    return order.find((place) => !this.current.has(place));
  }

  /** The median number of seconds per label; an estimate until there are five. */
  pace() {
    const times = [...this.current.keys()].map((unit) => this.spent[unit] || 0).sort((a, b) => a - b);
    return times.length < 5 ? first.seconds : times[times.length >> 1];
  }

  /** The labels as JSON lines; one without a label was undone. */
  lines(of = [...this.current.keys()]) {
    return of
      .sort((one, other) => one - other)
      .map((unit) => {
        const label = this.current.get(unit);
        const { record, id, hash, text, response } = units[unit];
        const seconds = Math.round((this.spent[unit] || 0) * 10) / 10;
        const { task, draw, rubric } = first;
        const who = this.annotator ? { annotator: this.annotator } : {};
        const about = { record, unit: id, task, label, ...who, seconds, draw, rubric, hash, text, response };
        return `${JSON.stringify(about)}\n`;
      })
      .join('');
  }

  /** The file name of exported labels. */
  file() {
    const who = this.annotator.replace(/[^\p{L}\p{N}._-]+/gu, '-');
    return who ? first.file.replace('NAME', who) : first.file.replace('-NAME', '');
  }

  /**
   * Import labels exported by this page; existing labels are kept. Return a message about the result. The server's
   * labels replace all those here, except the ``newer`` ones: a label that it lacks was undone in another browser.
   * @param {string} text @param {Set<number> | null} newer
   */
  take(text, newer = null) {
    const places = new Map(units.map((unit, place) => [`${unit.record}\n${unit.id}`, place]));
    const known = first.labels.map(([label]) => label);
    const lines = text.split('\n').filter((line) => line.trim());
    const rows = lines.map(parsed).filter((row) => row !== null);
    const fit = rows.filter((row) => {
      const unit = units[places.get(`${row.record}\n${row.unit}`) ?? -1];
      const read = unit && row.hash === unit.hash && (row.response ?? unit.response) === unit.response;
      const same = read && row.task === first.task && row.rubric === first.rubric;
      return same && (row.annotator || '') === this.annotator && (row.label === null || known.includes(row.label));
    });
    const found = new Set(newer);
    let taken = 0;
    for (const row of fit) {
      const unit = places.get(`${row.record}\n${row.unit}`) ?? -1;
      found.add(unit);
      if (newer ? newer.has(unit) : this.current.has(unit)) continue;
      if (this.current.get(unit) !== row.label) this.put(unit, row.label);
      if (newer) this.unsent.delete(unit);
      this.spent[unit] = Number(row.seconds) || 0;
      taken += 1;
    }
    if (newer) this.given = this.given.filter(([unit]) => found.has(unit));
    this.current = new Map(this.given);
    this.save();
    const [here, other, bad] = [fit.length - taken, rows.length - fit.length, lines.length - rows.length];
    return [
      `${plural(taken, 'label')} imported`,
      here ? `${here} already here` : '',
      other ? `${other} left out (another sample or annotator)` : '',
      bad ? `${plural(bad, 'line is', 'lines are')} not JSON` : '',
    ]
      .filter(Boolean)
      .join(', ');
  }
}
