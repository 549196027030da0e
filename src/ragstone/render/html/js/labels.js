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
    /** Whether the server's labels were fetched; none are sent before, so that nothing there is lost. */
    this.known = false;
    this.changed = false;
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
    this.given.push([unit, label]);
    this.current.set(unit, label);
    this.save();
  }

  /** Add the time of a visit to a unit. @param {number} unit @param {number} seconds */
  spend(unit, seconds) {
    this.spent[unit] = (this.spent[unit] || 0) + Math.min(seconds, IDLE);
  }

  /** Undo the last label and return its unit, or undefined if there is none. */
  undo() {
    const last = this.given.pop();
    this.current = new Map(this.given);
    this.save();
    return last?.[0];
  }

  save() {
    this.unkept = '';
    if (first.root) this.send();
    this.stored(() => {
      localStorage.setItem(this.key, JSON.stringify({ given: this.given, spent: this.spent }));
      localStorage.setItem(KEPT_AS, this.annotator);
    });
  }

  /** The path of the labels on this page's server. */
  get place() {
    return `data/labels-${encodeURIComponent(this.annotator)}`;
  }

  /** Import this annotator's labels from the server; return a message about the result. */
  async fetched() {
    const answer = await fetch(this.place).catch(() => null);
    const text = answer?.ok ? await answer.text() : '';
    return text ? this.take(text) : '';
  }

  /** Send all labels to the server, one request at a time; the last one has the latest labels. */
  async send() {
    this.changed = true;
    if (this.sending || !this.known) return;
    this.sending = true;
    while (this.changed) {
      this.changed = false;
      const answer = await fetch(this.place, { method: 'PUT', body: this.lines() }).catch(() => null);
      if (!answer?.ok) {
        this.unkept = 'The server is not saving your labels; is ragstone view still running? Export before you leave.';
        say('');
      }
    }
    this.sending = false;
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

  /** The labels as JSON lines. */
  lines() {
    return [...this.current]
      .sort(([one], [other]) => one - other)
      .map(([unit, label]) => {
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
   * Import labels from a file exported by this page; existing labels are kept. Return a message about the result.
   * @param {string} text
   */
  take(text) {
    const places = new Map(units.map((unit, place) => [`${unit.record}\n${unit.id}`, place]));
    const known = first.labels.map((/** @type {[string, string]} */ [label]) => label);
    const lines = text.split('\n').filter((line) => line.trim());
    const rows = lines.map(parsed).filter((row) => row !== null);
    const fit = rows.filter((row) => {
      const unit = units[places.get(`${row.record}\n${row.unit}`) ?? -1];
      const read = unit && row.hash === unit.hash && (row.response ?? unit.response) === unit.response;
      const same = read && row.task === first.task && row.rubric === first.rubric;
      return same && (row.annotator || '') === this.annotator && (row.label === null || known.includes(row.label));
    });
    let taken = 0;
    for (const row of fit) {
      const unit = places.get(`${row.record}\n${row.unit}`) ?? -1;
      if (this.current.has(unit)) continue;
      this.given.push([unit, row.label]);
      this.current.set(unit, row.label);
      this.spent[unit] = Number(row.seconds) || 0;
      taken += 1;
    }
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
