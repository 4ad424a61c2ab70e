// What index.d.ts promises, as tsc reads it. It is compiled, and not run.
import { Verifier, Signer, PromotionalOfferSignature, VerificationError, Evidence, Entitlements, Answer, decodeUnverified, version } from './index';
const verifier = new Verifier({ bundleId: ['com.example.app'], environments: 'production', validationDate: 'now', maximumAge: 5 });
async function redeem(body: Uint8Array) {
  try {
    const { items, refused, error }: Entitlements = await verifier.entitlementsAsync(body);
    if (error) throw error;
    const evidence: Evidence = verifier.verify(body);
    const expires: number = evidence.trust.signerExpires.getTime();
    const answer: Answer = verifier.answer(body, { latestReceiptInfo: true });
    const yes: boolean = await verifier.acceptsAsync(body);
    return [items.filter((item) => item.grantable && !item.givesAccess).map((item) => item.productId), refused[0]?.index, expires, answer.json, yes, decodeUnverified(body), version, verifier.counts.verified];
  } catch (error) {
    if (!(error instanceof VerificationError)) throw error;
    return { status: error.httpStatus, advice: error.advice, code: error.code };
  }
}
// @ts-expect-error
verifier.verify(1);
// @ts-expect-error
new Verifier({ bundleIds: 'x' });
// @ts-expect-error
new Verifier(undefined);
new Verifier();
const signer = new Signer({ keyId: '1', issuerId: '2', bundleId: '3', keyFile: '/key.p8' });
const jws: string = signer.signPromotionalOffer('a', 'b', null);
const offer: PromotionalOfferSignature = signer.signOriginalPromotionalOffer('a', 'b', null);
// @ts-expect-error
signer.signPromotionalOffer('a', 'b');
// @ts-expect-error
new Signer({ keyId: '1', issuerId: '2', bundleId: '3' });
redeem(new Uint8Array());
