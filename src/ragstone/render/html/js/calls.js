// The calls behind a record's scores: request, reply, how it was parsed, and cost.

/** @param {Case} record */
function callsView(record) {
  const calls = record.document.calls;
  if (!calls.length) return el('p.empty', 'No call was needed for this record.');
  const short = shortJudges([...new Set(calls.map((call) => call.judge))]);
  const cost = record.document.cost;
  const metered = cost.input_tokens || cost.output_tokens;
  const used = metered ? `, ${count(cost.input_tokens)} tokens in and ${count(cost.output_tokens)} out` : '';
  const bodies = calls.map(() => el('div.raw', el('p.soft', 'Unpacking\u2026')));
  rawCalls(record.document.position)
    .then((raw) => calls.forEach((call, place) => refill(bodies[place], rawBody(call, raw ? raw[place] : undefined))))
    .catch((error) => bodies.forEach((body) => refill(body, el('p.empty', String(error.message || error)))));
  return el(
    'div',
    el(
      'p.note',
      `${plural(cost.calls, 'call')}${used}, ${dollars(cost.dollars)}. A call shared by several metrics is listed once.`,
    ),
    el(
      'div.calls',
      calls.map((call, place) =>
        el(
          'details',
          { class: troubled(call) ? 'troubled' : null },
          el(
            'summary',
            el('b', call.step),
            el(
              'span',
              { title: call.judge },
              foreign(short[call.judge]),
              el('span.served.soft', `for ${call.metrics.map(spoken).join(', ')}`),
            ),
            el('span.number.soft', tokensOf(call)),
            el('span.number.soft', dollars(call.dollars)),
            el('span', { class: troubled(call) ? 'state' : 'soft' }, foreign(howRead(call))),
          ),
          bodies[place],
        ),
      ),
    ),
  );
}

function troubled(call) {
  return Boolean(call.error) || (call.reading && call.reading.status !== 'ok');
}

function tokensOf(call) {
  return call.input_tokens === undefined && call.output_tokens === undefined
    ? ''
    : `${count(call.input_tokens || 0)} in, ${count(call.output_tokens || 0)} out`;
}

function howRead(call) {
  if (call.error) return `failed: ${call.error}`;
  if (!call.reading) return '';
  const { read, asked, reader, status, repair } = call.reading;
  const what =
    status === 'ok'
      ? `parsed as ${reader}: ${read} of ${asked}`
      : `${status.replaceAll('_', ' ')}: ${read} of ${asked} parsed`;
  return repair ? `repair: ${what}` : what;
}

/** @param {any} call @param {any} raw null if no longer in the store, undefined if not in this file */
function rawBody(call, raw) {
  const told = el(
    'p.note',
    foreign([call.maker, `ended: ${call.finish}`, call.reading?.problem].filter(Boolean).join(' \u00b7 ')),
  );
  if (raw === undefined) {
    return [
      told,
      el(
        'p.empty',
        first.calls_wanted
          ? 'The raw calls of this run would make this file too large. '
          : 'This file was made without raw calls. ',
        'They are in the store: ',
        el('code', command(`ragstone view ${first.run}`, first.store)),
      ),
    ];
  }
  if (raw === null) return [told, el('p.empty', 'This call is no longer in the store.')];
  const messages = Array.isArray(raw.request?.messages) ? raw.request.messages : null;
  const { messages: _, ...settings } = messages ? raw.request : { messages: null };
  return [
    told,
    messages
      ? messages.map((message) =>
          rawText(
            `Prompt, ${message.role}`,
            typeof message.content === 'string' ? message.content : JSON.stringify(message.content, null, 1),
          ),
        )
      : rawText('Request', JSON.stringify(raw.request, null, 1)),
    raw.reasoning ? rawText('Reasoning', raw.reasoning) : null,
    rawText('Reply', pretty(raw.reply)),
    messages && Object.keys(settings).length ? rawText('Settings', JSON.stringify(settings, null, 1)) : null,
  ];
}

/** @param {string} title @param {string} text */
function rawText(title, text) {
  return el('div', el('h3', title), el('pre', { tabindex: 0, dir: 'auto' }, text));
}

/** Break one-line JSON into several lines for readability. @param {string} text */
function pretty(text) {
  if (text.includes('\n') || !/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 1);
  } catch {
    return text;
  }
}
