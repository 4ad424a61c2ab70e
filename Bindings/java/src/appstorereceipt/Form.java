package appstorereceipt;

/** What a verdict's JSON has: all contents, or only the kind and the trust. */
public enum Form { FULL, BRIEF }
