'use strict';

const native = require('./dist/appstorereceipt.node');

const VERIFY = 0, ENTITLEMENTS = 1, ANSWER = 2, DECODE = 3;
const FORMS = { full: 0, brief: 1, none: 2 };
const FILL_LATEST_RECEIPT_INFO = 16;
const DATE_NOW = 2n ** 63n - 1n;
// A notification's signed parts are members too.
const KINDS = [
  'receipt', 'notification', 'transaction', 'renewal_info', 'app_transaction', 'realtime_request', 'transaction_receipt',
];
const HTTP_STATUS = { client: 400, forgery: 403, host: 500 };

const bytes = (value) => (typeof value === 'string' ? Buffer.from(value) : value);
const milliseconds = (date) => (date === 'now' ? DATE_NOW : BigInt(date.valueOf()));

class VerificationError extends Error {
  constructor({ status, code, category, json }, message) {
    const verdict = json === null ? undefined : JSON.parse(json);
    const error = verdict?.error ?? verdict?.refused?.[0].error;
    super(message ?? error?.message ?? code);
    this.name = 'VerificationError';
    this.status = status;
    this.code = code;
    this.category = category;
    this.httpStatus = HTTP_STATUS[category] ?? 500;
    this.advice = error?.advice ?? '';
    this.verdictJson = json;
  }
}

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
    return this.verdict?.kind ?? KINDS.find((kind) => this.verdict && kind in this.verdict);
  }

  get trust() {
    return this.verdict?.trust;
  }

  get contents() {
    return this.verdict?.[this.kind];
  }
}

const errorOf = (outcome) => (outcome.status === 0 ? null : new VerificationError(outcome));

const evidenceOf = (outcome) => {
  if (outcome.status !== 0) throw new VerificationError(outcome);
  return new Evidence(outcome.json);
};

const verdictOf = (outcome) => {
  if (outcome.json === null) throw new VerificationError(outcome);
  return outcome.json;
};

// A refused piece of evidence gives access to nothing and the others count. If this host is at fault, nothing is known.
const entitlementsOf = (outcome) => {
  if (outcome.status > 1) throw new VerificationError(outcome);
  const { at, items, refused } = JSON.parse(outcome.json);
  return { at: new Date(at), items, refused, json: outcome.json, error: errorOf(outcome) };
};

const answerOf = (outcome) => ({ json: verdictOf(outcome), error: errorOf(outcome) });

class Verifier {
  #verifier;

  constructor(options = {}) {
    const entries = [];
    for (const [name, value] of Object.entries(options)) {
      if (value === undefined) continue;
      for (const element of Array.isArray(value) ? value : [value]) {
        if (name === 'validationDate' || name === 'clock') entries.push([name, milliseconds(element)]);
        else if (name === 'maximumAge') entries.push([name, BigInt(element)]);
        else entries.push([name, name === 'roots' || name === 'transactionReceiptIssuers' ? bytes(element) : element]);
      }
    }
    const outcome = native.create(entries);
    if (typeof outcome === 'string') {
      throw new VerificationError(
        { status: 4, code: 'usage', category: 'host', json: null }, `the option ${outcome} cannot be read`);
    }
    if (outcome.status !== 0) throw new VerificationError(outcome);
    this.#verifier = outcome.verifier;
  }

  #call(operation, evidence, flags, isAsynchronous) {
    return native.call(operation, this.#verifier, bytes(evidence), Buffer.alloc(0), flags, 0n, isAsynchronous);
  }

  #entitlements(evidence, date, isAsynchronous) {
    const pieces = evidence.map(bytes);
    const lengths = BigUint64Array.from(pieces, (piece) => BigInt(piece.length));
    return native.call(
      ENTITLEMENTS, this.#verifier, Buffer.concat(pieces), lengths, 0, milliseconds(date), isAsynchronous);
  }

  verify(evidence, form = 'full') {
    return evidenceOf(this.#call(VERIFY, evidence, FORMS[form], false));
  }

  async verifyAsync(evidence, form = 'full') {
    return evidenceOf(await this.#call(VERIFY, evidence, FORMS[form], true));
  }

  verdictJson(evidence, form = 'full') {
    return verdictOf(this.#call(VERIFY, evidence, FORMS[form], false));
  }

  async verdictJsonAsync(evidence, form = 'full') {
    return verdictOf(await this.#call(VERIFY, evidence, FORMS[form], true));
  }

  accepts(evidence) {
    return this.#call(VERIFY, evidence, FORMS.none, false).status === 0;
  }

  entitlements(evidence, date = 'now') {
    return entitlementsOf(this.#entitlements(evidence, date, false));
  }

  async entitlementsAsync(evidence, date = 'now') {
    return entitlementsOf(await this.#entitlements(evidence, date, true));
  }

  answer(body, { latestReceiptInfo = false } = {}) {
    return answerOf(this.#call(ANSWER, body, latestReceiptInfo ? FILL_LATEST_RECEIPT_INFO : 0, false));
  }

  async answerAsync(body, { latestReceiptInfo = false } = {}) {
    return answerOf(await this.#call(ANSWER, body, latestReceiptInfo ? FILL_LATEST_RECEIPT_INFO : 0, true));
  }

  get counts() {
    return JSON.parse(native.counts(this.#verifier));
  }
}

function decodeUnverified(evidence) {
  const outcome = native.call(DECODE, null, bytes(evidence), Buffer.alloc(0), 0, 0n, false);
  if (outcome.status !== 5) throw new VerificationError(outcome);
  return outcome.json;
}

module.exports = { Verifier, VerificationError, Evidence, decodeUnverified, version: native.version };
