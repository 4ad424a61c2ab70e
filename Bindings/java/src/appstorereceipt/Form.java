package appstorereceipt;

/** What a verdict's JSON has: all contents, the kind and the trust, or there is no JSON. */
public enum Form { FULL, BRIEF, NONE }
