/** A receipt, JWS or transaction receipt, or a JSON object that contains one, as the client sent it. */
export type Input = Uint8Array | string;

/** `full`: the JSON has all contents. `brief`: only the kind and the trust. */
export type Form = 'full' | 'brief';

export type Environment = 'production' | 'sandbox' | 'xcode' | 'local-testing';

export type Kind =
  | 'receipt' | 'transaction' | 'renewal_info' | 'app_transaction' | 'notification' | 'realtime_request'
  | 'transaction_receipt';

/** Leave out what is not set: `undefined`, `null`, an empty text or an empty list is an error, and never means every app or any age. */
export interface Options {
  /** The apps to accept. Without any, compare the bundle id in the contents before you grant anything. */
  bundleId?: string | string[];
  /** The environments to accept; `production` by default. */
  environments?: Environment | Environment[];
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

/** Who signed the evidence. The fingerprints are SHA-256 in hexadecimal. */
export interface Trust {
  authority: string;
  anchor: string;
  signer: string;
  signerExpires: Date;
  digest: string;
  validatedAt: Date;
}

/** Evidence that was verified. */
export class Evidence {
  private constructor();
  /** The verdict as JSON, to store. */
  readonly verdictJson: string;
  /** The name of the verdict's member that has the contents. */
  readonly kind: Kind;
  readonly trust: Trust;
  /** The contents, with the names and the dates of the JSON. */
  readonly contents: Record<string, any>;
  /** The whole verdict. A notification's signed parts are its members `transaction` and `renewal_info`. */
  readonly verdict: Record<string, any>;
}

/** The reason that evidence was refused, or that a verifier could not be made. */
export class VerificationError extends Error {
  private constructor();
  /** 1: refused, 2: this host is at fault, 3: the options are at fault, 4: the call is wrong. */
  readonly status: 1 | 2 | 3 | 4;
  /** A stable word such as `bundle-id-mismatch`; `usage` if an option cannot be read. */
  readonly code: string;
  /** Who can correct the error. */
  readonly category: 'client' | 'forgery' | 'host';
  /** The status to respond with: 400, 403 or 500. */
  readonly httpStatus: 400 | 403 | 500;
  readonly advice: string;
  /** The refusal as JSON, or `null`. */
  readonly verdictJson: string | null;
}

/** What one transaction gives access to, with all members of the JSON in camelCase. */
export interface Entitlement {
  transactionId: string;
  originalTransactionId: string;
  productId: string;
  access:
    | 'active' | 'owned' | 'consumable' | 'not-yet' | 'expired' | 'revoked' | 'upgraded' | 'length-unknown'
    | 'undetermined';
  /** Whether the product may be used at the date: `access` is `active` or `owned`. A consumable gives no access that lasts. */
  givesAccess: boolean;
  /** Whether the transaction can be granted, once: it gives access, or is a consumable with a quantity of at least 1. */
  grantable: boolean;
  until: Date | null;
  quantity: number;
  purchaseDate?: Date | null;
  expiresDate?: Date | null;
  appAccountToken?: string;
  [member: string]: unknown;
}

/** A piece of evidence that was refused. The index counts from 0. */
export interface Refusal {
  index: number;
  code: string;
  category: 'client' | 'forgery' | 'host';
  message: string;
}

/** What the evidence of one customer gives access to. Refused pieces give access to nothing; the others count. */
export interface Entitlements {
  at: Date;
  items: Entitlement[];
  refused: Refusal[];
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
  constructor(options?: Options);
  /** @throws VerificationError if the evidence is refused. */
  verify(evidence: Input): Evidence;
  verifyAsync(evidence: Input): Promise<Evidence>;
  /** The verdict on evidence that is verified or refused, as JSON. */
  verdictJson(evidence: Input, form?: Form): string;
  verdictJsonAsync(evidence: Input, form?: Form): Promise<string>;
  /** Whether evidence is verified: the fastest call, without JSON. */
  accepts(evidence: Input): boolean;
  acceptsAsync(evidence: Input): Promise<boolean>;
  /**
   * What one customer's evidence gives access to at a date.
   * @throws VerificationError if this host or the options are at fault.
   */
  entitlements(evidence: Input | Input[], at?: Date | number | 'now'): Entitlements;
  entitlementsAsync(evidence: Input | Input[], at?: Date | number | 'now'): Promise<Entitlements>;
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
