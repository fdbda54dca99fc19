// Times in the zone that the user chose.

const formats = new Map(); // creating a formatter costs more than formatting a hundred instants

/** formatOf returns the formatter for these options; each is created only once. */
export function formatOf(locale, options) {
  const key = `${locale} ${JSON.stringify(options)}`;
  if (!formats.has(key)) formats.set(key, new Intl.DateTimeFormat(locale, options));
  return formats.get(key);
}

const partsOf = (zone) => formatOf('en-CA', {
  timeZone: zone, hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit',
});

/** zoneNamed returns the exact name of the zone that a text means: browsers take other cases, too, the service does not. Empty: the browser knows none. */
export function zoneNamed(text) {
  try {
    return /^[a-z]/i.test(text) ? partsOf(text).resolvedOptions().timeZone : ''; // an offset is no name
  } catch {
    return '';
  }
}

/** local returns an instant in ms as YYYY-MM-DDTHH:MM:SS in the zone. */
export function local(ms, zone) {
  const p = Object.fromEntries(partsOf(zone).formatToParts(ms).map((x) => [x.type, x.value]));
  return `${p.year.padStart(4, '0')}-${p.month}-${p.day}T${p.hour}:${p.minute}:${p.second}`;
}

const offset = (ms, zone) => Date.parse(`${local(ms, zone)}Z`) - Math.floor(ms / 1000) * 1000;

/**
 * instant returns the ms of a local time in the zone. A time that the clocks
 * skip is read with the offset before the change; of a time that occurs twice,
 * it is the first.
 */
export function instant(text, zone) {
  const asUTC = Date.parse(`${text.length === 16 ? `${text}:00` : text}Z`);
  const day = 86400e3;
  const candidates = [offset(asUTC - day, zone), offset(asUTC + day, zone)].map((o) => asUTC - o);
  const right = candidates.filter((ms) => local(ms, zone) === new Date(asUTC).toISOString().slice(0, 19));
  return right.length ? Math.min(...right) : candidates[0];
}

/** daysOf returns the days of a window, YYYY-MM-DD by the calendar of its zone. */
export function daysOf({ from, to, zone }) {
  const [first, last] = [from, to - 1].map((ms) => Date.parse(`${local(ms, zone).slice(0, 10)}Z`));
  return Array.from({ length: Math.round((last - first) / 86400e3) + 1 }, (_, i) => new Date(first + i * 86400e3).toISOString().slice(0, 10));
}

/** show returns an instant in ms as text for people. */
export function show(ms, zone, language, seconds = false) {
  return formatOf(language, { timeZone: zone, dateStyle: 'medium', timeStyle: seconds ? 'medium' : 'short' }).format(ms);
}
