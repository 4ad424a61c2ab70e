'use strict';

const native = require('./dist/appstorereceipt.node');

const VERIFY = 0, ENTITLEMENTS = 1, ANSWER = 2, DECODE = 3;
const VERIFIED = 0, REFUSED = 1, CONFIGURATION = 3, USAGE = 4, DECODED = 5;
const FORMS = { full: 0, brief: 1 }, NO_JSON = 2, LATEST_RECEIPT_INFO = 16;
const NOW = 2n ** 63n - 1n;
const HTTP_STATUS = { client: 400, forgery: 403, host: 500 };

const NOTHING = Buffer.alloc(0);
const bytes = (value) => (typeof value === 'string' ? Buffer.from(value) : value);
const list = (value) => (Array.isArray(value) ? value : [value]);

// Whole milliseconds. BigInt() would take texts, lists and booleans, too.
const milliseconds = (date) => {
  if (date === 'now') return NOW;
  const number = date instanceof Date ? date.getTime() : date;
  if (!Number.isInteger(number)) throw new TypeError('a date must be a Date or milliseconds since 1970');
  return BigInt(number);
};

class VerificationError extends Error {
  constructor({ status, code, category, json }, message) {
    const verdict = json === null ? {} : JSON.parse(json);
    // Of entitlements, the error is that of one of the pieces.
    const errors = [verdict, ...(verdict.refused ?? [])].map(({ error }) => error);
    const details = errors.find((error) => error?.code === code);
    super(message ?? details?.message ?? code);
    this.name = 'VerificationError';
    this.status = status;
    this.code = code;
    this.category = category;
    this.httpStatus = HTTP_STATUS[category] ?? 500;
    this.advice = details?.advice ?? '';
    this.verdictJson = json;
  }
}

// The members of the JSON in the names and the types of JavaScript.
const DATES = new Set(['signer_expires', 'validated_at', 'until', 'purchase_date', 'expires_date']);
// Years before 0 and after 9999 have six digits here. What a Date cannot be is null: it ends in the year 275760.
const dateOf = (text) => {
  const date = new Date(text.replace(/^([+-])(\d+)/, (_, sign, year) => sign + year.padStart(6, '0')));
  return Number.isNaN(date.valueOf()) ? null : date;
};
const record = (members) => Object.fromEntries(Object.entries(members).map(([name, value]) => [
  name.replace(/_(.)/g, (_, letter) => letter.toUpperCase()), DATES.has(name) && value !== null ? dateOf(value) : value,
]));

class Evidence {
  #verdict;

  constructor(verdictJson) {
    this.verdictJson = verdictJson;
  }

  // Most callers store the text and read one member: parsing takes longer than verifying if a receipt is large.
  get verdict() {
    return (this.#verdict ??= JSON.parse(this.verdictJson));
  }

  get kind() {
    const names = Object.keys(this.verdict);
    return names[names.indexOf('trust') + 1];
  }

  get trust() {
    return record(this.verdict.trust);
  }

  get contents() {
    return this.verdict[this.kind];
  }
}

const errorOf = (outcome) => ([VERIFIED, DECODED].includes(outcome.status) ? null : new VerificationError(outcome));

// The JSON, unless the status is greater, or there is no memory for the JSON.
const jsonOf = (outcome, greatest = VERIFIED) => {
  const error = outcome.status > greatest || outcome.json === null ? errorOf(outcome) : null;
  if (error !== null) throw error;
  return outcome.json;
};

// What a method makes of the outcome of its call, at once or when the thread pool has it.
const results = {
  verify: (outcome) => new Evidence(jsonOf(outcome)),
  verdictJson: (outcome) => jsonOf(outcome, CONFIGURATION),
  entitlements(outcome) {
    const json = jsonOf(outcome, REFUSED);
    const { at, items, refused } = JSON.parse(json);
    return {
      at: new Date(at),
      items: items.map(record),
      refused: refused.map(({ index, error: { code, category, message } }) => ({ index, code, category, message })),
      json,
      error: errorOf(outcome),
    };
  },
  answer: (outcome) => ({ json: jsonOf(outcome, CONFIGURATION), error: errorOf(outcome) }),
};

const usage = (name) => new VerificationError(
  { status: USAGE, code: 'usage', category: 'host', json: null }, `the option ${name} cannot be read`);

// The values of an option for the addon, which refuses those of another type. A setting that is present and empty is an error,
// such as `bundleId: process.env.UNSET`: it must not mean every app.
const LISTS = new Set(['bundleId', 'environments', 'roots', 'transactionReceiptIssuers', 'distrusted']);
// The library has errors for an empty id, and for no environment.
const IF_EMPTY = { bundleId: [''], environments: [] };

function valuesOf(name, value) {
  if (LISTS.has(name)) {
    const values = list(value);
    if (values.length === 0 && !Object.hasOwn(IF_EMPTY, name)) throw usage(name);
    const isFile = name === 'roots' || name === 'transactionReceiptIssuers';
    return values.length === 0 ? IF_EMPTY[name] : Array.from(values, isFile ? bytes : (text) => text);
  }
  if (name === 'clock' && value === 'now') throw usage(name);
  if (name === 'validationDate' || name === 'clock') {
    try {
      return [milliseconds(value)];
    } catch (error) {
      throw usage(name);
    }
  }
  if (name === 'maximumAge') {
    // A fraction of a second is none: less than what was meant.
    if (typeof value !== 'number' || !Number.isFinite(value)) throw usage(name);
    return [BigInt(Math.floor(value))];
  }
  return [value];
}

class Verifier {
  #verifier;

  constructor(options = {}) {
    // A list or a Map has no members, which would mean every app.
    if (Object.prototype.toString.call(options) !== '[object Object]') throw usage('options');
    const entries = Object.entries({ environments: 'production', ...options })
      .flatMap(([name, value]) => valuesOf(name, value).map((element) => [name, element]));
    const outcome = native.create(entries);
    if (typeof outcome === 'string') throw usage(outcome);
    const error = errorOf(outcome);
    if (error !== null) throw error;
    this.#verifier = outcome.verifier;
  }

  #verify(evidence, flags, isAsynchronous) {
    return native.call(VERIFY, this.#verifier, bytes(evidence), NOTHING, flags, 0n, isAsynchronous);
  }

  #entitlements(evidence, at, isAsynchronous) {
    // Views of the memory itself, since a `length` can be anything.
    const pieces = list(evidence).map(bytes).map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength));
    const lengths = BigUint64Array.from(pieces, (piece) => BigInt(piece.length));
    return native.call(ENTITLEMENTS, this.#verifier, Buffer.concat(pieces), lengths, 0, milliseconds(at), isAsynchronous);
  }

  #answer(body, { latestReceiptInfo = false } = {}, isAsynchronous) {
    const flags = latestReceiptInfo ? LATEST_RECEIPT_INFO : 0;
    return native.call(ANSWER, this.#verifier, bytes(body), NOTHING, flags, 0n, isAsynchronous);
  }

  verify(evidence) {
    return results.verify(this.#verify(evidence, FORMS.full, false));
  }

  async verifyAsync(evidence) {
    return results.verify(await this.#verify(evidence, FORMS.full, true));
  }

  verdictJson(evidence, form = 'full') {
    return results.verdictJson(this.#verify(evidence, FORMS[form], false));
  }

  async verdictJsonAsync(evidence, form = 'full') {
    return results.verdictJson(await this.#verify(evidence, FORMS[form], true));
  }

  accepts(evidence) {
    return this.#verify(evidence, NO_JSON, false).status === VERIFIED;
  }

  async acceptsAsync(evidence) {
    return (await this.#verify(evidence, NO_JSON, true)).status === VERIFIED;
  }

  entitlements(evidence, at = 'now') {
    return results.entitlements(this.#entitlements(evidence, at, false));
  }

  async entitlementsAsync(evidence, at = 'now') {
    return results.entitlements(await this.#entitlements(evidence, at, true));
  }

  answer(body, options) {
    return results.answer(this.#answer(body, options, false));
  }

  async answerAsync(body, options) {
    return results.answer(await this.#answer(body, options, true));
  }

  get counts() {
    return JSON.parse(native.counts(this.#verifier));
  }
}

const decodeUnverified = (evidence) =>
  jsonOf(native.call(DECODE, null, bytes(evidence), NOTHING, 0, 0n, false));

module.exports = { Verifier, VerificationError, Evidence, decodeUnverified, version: native.version };
