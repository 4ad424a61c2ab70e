'use strict';

// Runs the shared cases, synchronously and on the thread pool, and the code of README.md.
const assert = require('node:assert');
const crypto = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const vm = require('node:vm');
const { Worker, isMainThread } = require('node:worker_threads');
// This package, or the installed one.
const library = require('appstorereceipt');
const native = require(path.join(path.dirname(require.resolve('appstorereceipt')), 'dist/appstorereceipt.node'));
const { Verifier, Signer, VerificationError, decodeUnverified } = library;

const file = (name) => fs.readFileSync(path.join(__dirname, '../../TestVectors', name));
const cases = JSON.parse(fs.readFileSync(path.join(__dirname, '../cases/cases.json')));

const badSettings = JSON.parse(fs.readFileSync(path.join(__dirname, '../cases/settings.json')));
const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());

const optionsOf = (options) => Object.fromEntries(Object.entries({ environments: [], ...options }).map(
  ([name, value]) => [camel(name), ['roots', 'transaction_receipt_issuers'].includes(name) ? value.map(file) : value]));

// The shared table, and what only JavaScript can say.
function runBadSettings() {
  const rows = badSettings.map(({ option, value, expect }) => [camel(option), value, expect]);
  const usage = { code: 'usage', status: 4 };
  const all = ['bundleId', 'environments', 'appAppleId', 'roots', 'transactionReceiptIssuers', 'storekitTesting', 'distrusted',
    'maximumAge', 'validationDate', 'allowsRsa1024', 'strictForm', 'clock', 'productTypes', 'other'];
  for (const name of all) for (const value of [undefined, {}, NaN, Symbol('a'), () => 'a', new Set(['a']), [undefined]]) rows.push([name, value, usage]);
  for (const name of ['bundleId', 'environments', 'distrusted', 'roots', 'productTypes']) for (const value of [0, 1, true, [['a']], new ArrayBuffer(1)]) rows.push([name, value, usage]);
  for (const name of ['validationDate', 'clock']) for (const value of [[], [0], '', '2020', true, 0n, 1.5, Infinity, new Date(NaN), 2 ** 63, 2 ** 64, -(2 ** 64)]) rows.push([name, value, usage]);
  for (const value of [[], [5], '', '60', true, 5n, Infinity, -0.5, 2 ** 63, 2 ** 64, new Date(0)]) rows.push(['maximumAge', value, usage]);
  for (const name of ['storekitTesting', 'allowsRsa1024', 'strictForm']) for (const value of [0, 1, '', 'false', null, []]) rows.push([name, value, usage]);
  rows.push(['clock', 'now', usage], ['appAppleId', 1234567890, usage], ['appAppleId', ['1'], usage], ['other', 1, usage]);
  for (const [name, value, expected] of rows) {
    const message = expected.code === 'usage' ? { message: `the option ${name} cannot be read`, httpStatus: 500 } : {};
    assert.throws(() => new Verifier({ [name]: value }), { ...expected, ...message }, `${name}: ${String(value)}`);
  }
  // Their members are not seen, and must not mean every app.
  class Configuration {
    get bundleId() { return 'com.example.app'; }
  }
  const inherited = Object.create(Object.assign(Object.create(null), { bundleId: 'com.example.app' }));
  for (const options of [undefined, null, [], ['a'], 'com.example.app', new Map([['bundleId', 'a']]), 1, true, () => {}, new Date(),
    new Configuration(), new (class { bundleId = 'com.example.app'; })(), Object.create({ bundleId: 'com.example.app' }), inherited])
    assert.throws(() => new Verifier(options), { ...usage, message: 'the option options cannot be read' });
  assert.throws(() => new Verifier({ [Symbol('bundleId')]: 'a' }), usage);
}

// Every object with the members of `{}` is the same, wherever it was made.
function runPlainOptions(root, receipt) {
  const hidden = Object.defineProperty({ roots: root }, 'bundleId', { value: 'com.example.other' });
  assert.throws(() => new Verifier(hidden).verify(receipt), { code: 'bundle-id-mismatch' });
  const foreign = Object.assign(vm.runInNewContext('({})'), { roots: root });
  for (const options of [foreign, Object.assign(Object.create(null), { roots: root }), { get roots() { return root; } }])
    assert.strictEqual(new Verifier(options).accepts(receipt), true);
  new Verifier();
}

// The lengths of pieces are numbers of JavaScript. None may lead out of the evidence's memory.
async function runLengths(verifier, receipt) {
  const { verifier: external } = native.create([]);
  const bad = [BigUint64Array.of(5n), BigUint64Array.of(4n, 1n), BigUint64Array.of(2n ** 63n), BigUint64Array.of(2n ** 64n - 1n, 5n), Buffer.alloc(7)];
  for (const lengths of bad) for (const isAsynchronous of [false, true])
    assert.throws(() => native.call(1, external, Buffer.alloc(4), lengths, 0, 0n, isAsynchronous), TypeError);
  const liar = Uint8Array.from(receipt);
  Object.defineProperty(liar, 'length', { value: 1 << 30 });
  const words = new Uint16Array(2);
  for (const suffix of ['', 'Async']) {
    const { items, refused } = await verifier['entitlements' + suffix]([words, liar, receipt], 0);
    assert.deepStrictEqual([items.length, refused.map(({ index }) => index)], [1, [0]]);
  }
  assert.strictEqual(verifier.entitlements(Array(1000).fill('')).refused.length, 1000);
  assert.throws(() => verifier.entitlements(Array(1001).fill('')), { code: 'too-much-evidence', status: 1, httpStatus: 400 });
  // 2 ** 64 is 0 in 64 bits.
  for (const at of [null, [], '2020', '', NaN, true, new Date(NaN), 2 ** 63, 2 ** 64, -(2 ** 64), 1e300]) {
    assert.throws(() => verifier.entitlements(receipt, at), TypeError);
    await assert.rejects(() => verifier.entitlementsAsync(receipt, at), TypeError);
  }
  assert.throws(() => verifier.entitlements(receipt, -(2 ** 63)), { code: 'usage', status: 4 });
}

async function result(test, suffix) {
  const verifier = new Verifier(optionsOf(test.options));
  const evidence = (test.evidence ?? []).map(file);
  switch (test.call) {
    case 'new': return { json: null };
    case 'verify': {
      const verified = await verifier['verify' + suffix](evidence[0]);
      assert.strictEqual(await verifier['accepts' + suffix](evidence[0]), true, test.name);
      const full = await verifier['verdictJson' + suffix](evidence[0]);
      const brief = await verifier['verdictJson' + suffix](evidence[0], 'brief');
      assert.deepStrictEqual([verified.kind, verified.verdictJson], [JSON.parse(brief).kind, full], test.name);
      return { json: { full, brief, none: null }[test.json] };
    }
    case 'entitlements': {
      const found = await verifier['entitlements' + suffix](evidence, test.date, test.environment);
      const { items, subscriptions, refused } = JSON.parse(found.json);
      assert.deepStrictEqual(
        found.items.map((i) => [i.productId, i.access, i.givesAccess, i.grantable, i.environment]),
        items.map((i) => [i.product_id, i.access, i.gives_access, i.grantable, i.environment]), test.name);
      assert.deepStrictEqual(
        found.subscriptions.map((s) => [s.originalTransactionId, s.willRenew, s.renewsAs, s.priceIncrease, s.renewalOffer, s.asOf?.getTime()]),
        subscriptions.map((s) => [
          s.original_transaction_id, s.will_renew, s.renews_as, s.price_increase, s.renewal_offer, s.as_of === null ? undefined : Date.parse(s.as_of),
        ]), test.name);
      assert.deepStrictEqual(found.refused.map((r) => [r.index, r.message]), refused.map((r) => [r.index, r.error.message]));
      return found;
    }
    case 'answer': return await verifier['answer' + suffix](evidence[0], { latestReceiptInfo: test.latest_receipt_info });
    case 'extract_transaction_id_from_app_receipt':
      return { json: JSON.stringify({ transaction_id: await verifier['extractTransactionIdFromAppReceipt' + suffix](evidence[0]) }) };
    case 'extract_transaction_id_from_transaction_receipt':
      return { json: JSON.stringify({ transaction_id: await verifier['extractTransactionIdFromTransactionReceipt' + suffix](evidence[0]) }) };
    case 'decode': return { json: decodeUnverified(evidence[0]), status: 5 };
    default: throw new Error(`unknown call ${test.call}`);
  }
}

async function runCases(suffix) {
  for (const test of cases) {
    let actual;
    try {
      actual = await result(test, suffix);
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error;
      actual = { json: test.json === 'none' ? null : error.verdictJson, error };
    }
    const { error, status = error?.status ?? 0 } = actual;
    const found = { status, code: error?.code ?? '', category: error?.category ?? '', json: actual.json };
    assert.deepStrictEqual(found, { ...test.expect, json: test.json_of?.node ?? test.expect.json }, test.name);
  }
}

const signing = JSON.parse(fs.readFileSync(path.join(__dirname, '../cases/signing.json')));
const signingFile = (name) => fs.readFileSync(path.join(__dirname, '../cases/signing', name));
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function checkJws(jws, expected, name) {
  const [header, payload, signature] = jws.split('.');
  const json = (part) => JSON.parse(Buffer.from(part, 'base64url'));
  assert.deepStrictEqual(json(header), { alg: 'ES256', kid: signing.key_id, typ: 'JWT' }, name);
  const { iat, nonce, ...claims } = json(payload);
  assert.ok(Math.abs(iat - Date.now() / 1000) < 10 && uuid.test(nonce), name);
  assert.deepStrictEqual(claims, { iss: signing.issuer_id, bid: signing.bundle_id, ...expected }, name);
  const rs = Buffer.from(signature, 'base64url');
  const key = { key: signingFile(signing.public_key), dsaEncoding: 'ieee-p1363' };
  assert.ok(rs.length === 64 && crypto.verify('sha256', Buffer.from(`${header}.${payload}`), key, rs), name);
}

function checkOriginal({ keyId, nonce, timestamp, signature }, expected, name) {
  assert.ok(keyId === signing.key_id && uuid.test(nonce) && Math.abs(timestamp - Date.now()) < 10000, name);
  const message = Buffer.from([...expected, nonce, timestamp].join('\u2063'));
  assert.ok(crypto.verify('sha256', message, signingFile(signing.public_key), Buffer.from(signature, 'base64')), name);
}

function signingRefused({ status, code, category, argument, kind = '' }, call, name) {
  assert.throws(call, (error) => {
    assert.ok(error instanceof VerificationError, `${name}: ${error}`);
    assert.deepStrictEqual([error.status, error.code, error.category], [status, code, category], name);
    assert.strictEqual(JSON.parse(error.verdictJson ?? '{}').error?.argument, argument, name);
    return error.message.includes(kind);
  }, name);
}

// The shared cases of signatures, which node:crypto verifies.
function runSigning() {
  const ids = { keyId: signing.key_id, issuerId: signing.issuer_id, bundleId: signing.bundle_id };
  const signer = new Signer({ ...ids, key: signingFile(signing.key) });
  for (const { name, call, arguments: given, expect } of signing.cases) {
    const sign = () => signer[camel(`sign_${call}`)](...Object.values(given));
    if (expect.code) signingRefused(expect, sign, name);
    else if (expect.claims) checkJws(sign(), expect.claims, name);
    else checkOriginal(sign(), expect.message, name);
  }
  for (const { file: name, expect } of signing.keys) {
    const make = () => new Signer({ ...ids, key: signingFile(name) });
    if (expect.status) signingRefused(expect, make, name);
    else make();
  }
  for (const { argument, value, expect } of signing.ids)
    signingRefused(expect, () => new Signer({ ...ids, [camel(argument)]: value, key: signingFile(signing.key) }), argument);
  const usage = { status: 4, code: 'usage', category: 'host' };
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'signing-'));
  const keyFile = path.join(folder, 'key.p8');
  fs.writeFileSync(keyFile, signingFile(signing.key), { mode: 0o600 });
  new Signer({ ...ids, keyFile });
  fs.chmodSync(keyFile, 0o640);
  signingRefused({ ...usage, status: 3, code: 'key-accessible-to-others' }, () => new Signer({ ...ids, keyFile }), 'rights');
  fs.rmSync(folder, { recursive: true });
  signingRefused({ ...usage, status: 3, code: 'key-no-credential' }, () => new Signer({ ...ids, keyCredential: '../a' }), 'credential');
  for (const keys of [{}, { key: undefined }, { key: 1 }, { keyFile: undefined }, { keyCredential: null }, { key: '', keyFile: 'a' }, { other: 1, key: '' }])
    signingRefused(usage, () => new Signer({ ...ids, ...keys }), JSON.stringify(keys));
  // What is left out has no default.
  const missing = { status: 1, code: 'invalid-argument', category: 'client' };
  signingRefused({ ...missing, argument: 'transaction_id' }, () => signer.signPromotionalOffer('a', 'b'), 'no customer');
  signingRefused({ ...missing, argument: 'app_account_token' }, () => signer.signOriginalPromotionalOffer('a', 'b'), 'no token');
  for (const value of [undefined, null, 1, 'true'])
    signingRefused({ ...missing, argument: 'allow_introductory_offer' }, () => signer.signIntroductoryOfferEligibility('a', value, '1'), 'no flag');
  signingRefused(usage, () => signer.signPromotionalOffer('\ud800', 'b', null), 'half a pair');
  console.log(`node: ${signing.cases.length} cases of signatures`);
}

async function runReadme() {
  const code = fs.readFileSync(path.join(__dirname, 'README.md'), 'utf8').match(/```js\n([^]*?)```/)[1];
  // The example trusts Apple's roots. The vectors are signed by a test authority, so the test adds its root.
  class TestVerifier extends Verifier {
    constructor(options) {
      super({ ...options, roots: file('authority/root.der'), clock: 1750420800000 });
    }
  }
  const printed = [];
  const redeem = new Function('require', 'console', code + '; return redeem;')(
    () => ({ ...library, Verifier: TestVerifier }), { error: (...words) => printed.push(words[0]) });
  const products = ['com.example.app.pro', 'com.example.app.coins'];
  assert.deepStrictEqual(await redeem(file('requests/json.json')), { status: 200, products });
  assert.deepStrictEqual(await redeem(file('certificates/stranger.der')), { status: 403, products: [] });
  assert.deepStrictEqual(await redeem('not a receipt'), { status: 400, products: [] });
  assert.deepStrictEqual(printed, ['untrusted-chain', 'unrecognized-form']);
}

async function main() {
  if (!isMainThread) return runCases('');
  await runCases('');
  await runCases('Async');
  await runReadme();
  runSigning();
  runBadSettings();
  const root = file('authority/root.der'), receipt = file('receipts/1-purchase.der');
  const verifier = new Verifier({ environments: 'production', roots: root });
  for (const value of [1, null, {}, new ArrayBuffer(1)]) assert.throws(() => verifier.verify(value), TypeError);
  await runLengths(new Verifier({ roots: root }), receipt);
  runPlainOptions(root, receipt);
  assert.deepStrictEqual([verifier.accepts(receipt), verifier.accepts('')], [true, false]);
  const { trust, contents } = verifier.verify(receipt);
  assert.deepStrictEqual([trust.validatedAt.getTime(), contents.bundle_id], [1749988800000, 'com.example.app']);
  const { items, refused, error } = verifier.entitlements([receipt, '']);
  assert.deepStrictEqual([items.length, error.message, error.advice !== ''], [1, 'the input is empty (at byte 0 of the text)', true]);
  assert.deepStrictEqual(refused, [{ index: 1, code: 'empty-input', category: 'client', message: 'the input is empty (at byte 0 of the text)' }]);

  // The bytes of an asynchronous call are its own: JavaScript may overwrite them at once.
  const overwritten = Buffer.from(receipt);
  const pending = Array.from({ length: 100 }, () => verifier.verifyAsync(overwritten));
  overwritten.fill(0);
  for (const evidence of await Promise.all(pending)) assert.strictEqual(evidence.kind, 'receipt');
  assert.strictEqual(verifier.counts.verified, 103);
  await new Promise((resolve, reject) => {
    new Worker(__filename).on('error', reject).on('exit', (code) => (code ? reject(code) : resolve()));
  });

  const began = process.hrtime.bigint(), calls = 5000;
  for (let i = 0; i < calls; i++) verifier.verdictJson(receipt);
  const microseconds = Number(process.hrtime.bigint() - began) / 1000 / calls;
  console.log(`node: ${cases.length} cases, README: passed; ${microseconds.toFixed(1)} µs per call`);
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
