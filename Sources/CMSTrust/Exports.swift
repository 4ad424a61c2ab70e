// Policies and results have the types of the modules below. See `AppStoreReceipt/Exports`.
@_exported public import Instants
@_exported public import SignatureTrust
@_exported public import SpanASN1
