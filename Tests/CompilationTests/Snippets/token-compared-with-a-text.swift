// A token is compared with a token: a text in uppercase would never be equal.
import AppStoreReceipt

func isFor(_ account: String, _ transaction: TransactionInfo) -> Bool {
    #if CONTROL
    transaction.appAccountToken == AppAccountToken(account)
    #else
    // error: cannot convert value of type 'AppAccountToken?' to expected argument type 'String'
    transaction.appAccountToken == account
    #endif
}
