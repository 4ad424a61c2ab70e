'use strict';

// Runs the shared cases, synchronously and on the thread pool, and the code of README.md.
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { Worker, isMainThread } = require('node:worker_threads');
const library = require('./index.js');
const { Verifier, VerificationError, decodeUnverified } = library;

const file = (name) => fs.readFileSync(path.join(__dirname, '../../TestVectors', name));
const cases = JSON.parse(fs.readFileSync(path.join(__dirname, '../cases/cases.json')));

const optionsOf = (options) => ({
  bundleIds: options.bundle_ids,
  environments: options.environments,
  appAppleId: options.app_apple_id,
  roots: options.roots?.map(file),
  transactionReceiptIssuers: options.transaction_receipt_issuers?.map(file),
  storekitTesting: options.storekit_testing,
  distrusted: options.distrusted,
  maximumAge: options.maximum_age,
  validationDate: options.validation_date,
  allowsRsa1024: options.allows_rsa_1024,
  clock: options.clock,
});

async function result(test, suffix) {
  const verifier = new Verifier(optionsOf(test.options));
  const evidence = (test.evidence ?? []).map(file);
  switch (test.call) {
    case 'new': return { json: null };
    case 'verify': return { json: (await verifier['verify' + suffix](evidence[0], test.json)).verdictJson };
    case 'entitlements': return await verifier['entitlements' + suffix](evidence, test.date);
    case 'answer': return await verifier['answer' + suffix](evidence[0], { latestReceiptInfo: test.latest_receipt_info });
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
      actual = { json: error.verdictJson, error };
    }
    const { error, status = error?.status ?? 0 } = actual;
    const found = { status, code: error?.code ?? '', category: error?.category ?? '', json: actual.json };
    assert.deepStrictEqual(found, test.expect, test.name);
  }
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
  for (const options of [{ environments: 'nowhere' }, { environments: 'production', roots: 'no certificate' }, { other: 1 }]) {
    assert.throws(() => new Verifier(options), { name: 'VerificationError', code: 'usage' });
  }
  const root = file('authority/root.der'), receipt = file('receipts/1-purchase.der');
  const verifier = new Verifier({ environments: 'production', roots: root });
  assert.throws(() => verifier.verify(1), TypeError);
  assert.deepStrictEqual([verifier.accepts(receipt), verifier.accepts('')], [true, false]);
  // The library names the kind in the brief verdict. The binding finds it in the full one.
  for (const test of cases.filter(({ call, json, expect }) => call === 'verify' && json === 'full' && expect.status === 0)) {
    const evidence = file(test.evidence[0]), one = new Verifier(optionsOf(test.options));
    assert.strictEqual(one.verify(evidence).kind, JSON.parse(one.verdictJson(evidence, 'brief')).kind, test.name);
  }
  const { items, error } = verifier.entitlements([receipt, '']);
  assert.deepStrictEqual([items.length, error.message, error.advice !== ''], [1, 'the input is empty', true]);

  // The bytes of an asynchronous call are its own: JavaScript may overwrite them at once.
  const overwritten = Buffer.from(receipt);
  const pending = Array.from({ length: 100 }, () => verifier.verifyAsync(overwritten));
  overwritten.fill(0);
  for (const evidence of await Promise.all(pending)) assert.strictEqual(evidence.kind, 'receipt');
  assert.strictEqual(verifier.counts.verified, 102);
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
