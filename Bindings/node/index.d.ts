/** A receipt, JWS or transaction receipt, or a JSON object that contains one, as the client sent it. */
export type Input = Uint8Array | string;

/** `full`: the JSON has all contents. `brief`: only the kind and the trust. `none`: there is no JSON. */
export type Form = 'full' | 'brief' | 'none';

export type Environment = 'production' | 'sandbox' | 'xcode' | 'local-testing';

export type Kind =
  | 'receipt' | 'transaction' | 'renewal_info' | 'app_transaction' | 'notification' | 'realtime_request'
  | 'transaction_receipt';

export interface Options {
  /** The apps to accept. Without any, compare the bundle id in the contents before you grant anything. */
  bundleIds?: string | string[];
  /** The environments to accept; at least one is required. */
  environments: Environment | Environment[];
  /** The app's Apple id, a number as text. Notifications and real-time requests have it. */
  appAppleId?: string;
  /** Self-signed root certificates in DER or PEM, trusted instead of Apple's. */
  roots?: Input | Input[];
  /** Intermediate certificates for transaction receipts of iOS 3 to 6. */
  transactionReceiptIssuers?: Input | Input[];
  /** Whether the roots are certificates of StoreKit Testing in Xcode. */
  storekitTesting?: boolean;
  /** SHA-256 fingerprints of certificates that nothing may be signed with, in hexadecimal. */
  distrusted?: string | string[];
  /** The maximum age of evidence in seconds. */
  maximumAge?: number;
  /** The date to validate certificates at, or `now`. The default is the date at which the evidence was signed. */
  validationDate?: Date | number | 'now';
  /** Whether to accept transaction receipts of version 2, which have an RSA key of 1024 bits. */
  allowsRsa1024?: boolean;
  /** The date at which the verifier's clock stands still, for tests. */
  clock?: Date | number;
}

export interface Trust {
  authority: string;
  anchor: string;
  signer: string;
  signer_expires: string;
  digest: string;
  validated_at: string;
}

/** Input that was verified. With the form `none`, all members but `verdictJson` are undefined. */
export class Evidence {
  private constructor();
  /** The verdict as JSON, to store; `null` with the form `none`. */
  readonly verdictJson: string | null;
  readonly kind: Kind;
  readonly trust: Trust;
  /** The verdict's member that `kind` names; undefined with the form `brief`. */
  readonly contents: Record<string, any>;
  /** The whole verdict. A notification's signed parts are its members `transaction` and `renewal_info`. */
  readonly verdict: Record<string, any>;
}

/** The reason that evidence was refused, or that a verifier could not be made. */
export class VerificationError extends Error {
  private constructor();
  /** 1: refused, 2: this host is at fault, 3: the options are at fault, 4: the call is wrong. */
  readonly status: 1 | 2 | 3 | 4;
  /** A stable word such as `bundle-id-mismatch`. */
  readonly code: string;
  /** Who can correct the error. */
  readonly category: 'client' | 'forgery' | 'host' | '';
  /** The status to respond with: 400, 403 or 500. */
  readonly httpStatus: 400 | 403 | 500;
  readonly advice: string;
  /** The refusal as JSON, or `null`. */
  readonly verdictJson: string | null;
}

export interface Entitlement {
  transaction_id: string;
  original_transaction_id: string;
  product_id: string;
  /** Only `active`, `owned` and `consumable` give access. */
  access:
    | 'active' | 'owned' | 'consumable' | 'not-yet' | 'expired' | 'revoked' | 'upgraded' | 'length-unknown'
    | 'undetermined';
  until: string | null;
  quantity: number;
  [member: string]: unknown;
}

export interface Entitlements {
  at: Date;
  items: Entitlement[];
  /** The pieces that were refused, which give access to nothing. The index counts from 0. */
  refused: { index: number; error: { code: string; category: string; message: string; [member: string]: unknown } }[];
  json: string;
  /** The error of the first piece that was refused, or `null`. */
  error: VerificationError | null;
}

export interface Answer {
  /** The body of the response, which Apple sends with HTTP status 200. */
  json: string;
  /** The reason of an answer without a receipt, or `null`. */
  error: VerificationError | null;
}

/** Making one takes milliseconds: make it when the server starts. The asynchronous calls run on Node's thread pool. */
export class Verifier {
  /** @throws VerificationError if the options can accept nothing. */
  constructor(options: Options);
  /** @throws VerificationError if the evidence is refused. */
  verify(evidence: Input, form?: Form): Evidence;
  verifyAsync(evidence: Input, form?: Form): Promise<Evidence>;
  /** The verdict on evidence that is verified or refused, as JSON. */
  verdictJson(evidence: Input, form?: 'full' | 'brief'): string;
  verdictJsonAsync(evidence: Input, form?: 'full' | 'brief'): Promise<string>;
  /** Whether evidence is verified: the fastest call, without JSON. */
  accepts(evidence: Input): boolean;
  /** What one customer's evidence gives access to at a date. */
  entitlements(evidence: Input[], date?: Date | number | 'now'): Entitlements;
  entitlementsAsync(evidence: Input[], date?: Date | number | 'now'): Promise<Entitlements>;
  /** The answer of verifyReceipt to a request's body, from the receipt alone. */
  answer(body: Input, options?: { latestReceiptInfo?: boolean }): Answer;
  answerAsync(body: Input, options?: { latestReceiptInfo?: boolean }): Promise<Answer>;
  /** The numbers of inputs verified and refused, for metrics. */
  readonly counts: { verified: number; refused: Record<string, number>; chain_cache: Record<string, number> };
}

/** The contents of evidence as JSON, WITHOUT VERIFYING IT: anyone can have written them. */
export function decodeUnverified(evidence: Input): string;

/** The version of the library. */
export const version: string;
