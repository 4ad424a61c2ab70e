package appstorereceipt;

/** A piece of evidence that was refused, by its place among those that were passed. */
public record Refusal(int index, String code, String category, String message) {}
