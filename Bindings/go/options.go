package appstorereceipt

// #include <appstorereceipt.h>
// #include <stdlib.h>
import "C"

import (
	"strings"
	"time"
	"unsafe"
)

// Now is the present, where a date is expected.
var Now time.Time

func milliseconds(date time.Time) C.int64_t {
	if date.IsZero() {
		return C.ASR_DATE_NOW
	}
	return C.int64_t(date.UnixMilli())
}

// Option is what a Verifier accepts, or which certificates it trusts. An option without a value is an error, as is an empty value: it
// comes from a setting that was left empty, and must not mean every app or any age.
type Option func(*options)

// options keep the name of the first option that cannot be read.
type options struct {
	handle          *C.asr_options
	hasEnvironments bool
	wrong           string
}

func (o *options) check(name string, status C.asr_status) {
	if status != C.ASR_VERIFIED && o.wrong == "" {
		o.wrong = name
	}
}

// present checks that there is a value.
func (o *options) present(name string, count int) {
	if count == 0 {
		o.check(name, C.ASR_USAGE)
	}
}

func (o *options) texts(name string, values []string, set func(*C.char) C.asr_status) {
	for _, value := range values {
		if strings.IndexByte(value, 0) >= 0 {
			o.check(name, C.ASR_USAGE)
			continue
		}
		text := C.CString(value)
		o.check(name, set(text))
		C.free(unsafe.Pointer(text))
	}
}

// BundleID accepts these apps. Without any, compare the bundle id in the contents before you grant anything.
func BundleID(ids ...string) Option {
	if len(ids) == 0 { // A setting that was left empty, and not every app. The library refuses an empty id.
		ids = []string{""}
	}
	return func(o *options) {
		o.texts("BundleID", ids, func(id *C.char) C.asr_status { return C.asr_options_add_bundle_id(o.handle, id) })
	}
}

// Environments accepts "production", which is the default, "sandbox", "xcode" and "local-testing".
func Environments(names ...string) Option {
	return func(o *options) {
		o.hasEnvironments = true
		o.texts("Environments", names, func(name *C.char) C.asr_status { return C.asr_options_add_environment(o.handle, name) })
	}
}

// AppAppleID is the app's Apple id, a number. Notifications and real-time requests have it.
func AppAppleID(id string) Option {
	return func(o *options) {
		o.texts("AppAppleID", []string{id}, func(id *C.char) C.asr_status { return C.asr_options_set_app_apple_id(o.handle, id) })
	}
}

// Roots are self-signed certificates in DER or PEM, trusted instead of Apple's.
func Roots(files ...[]byte) Option {
	return func(o *options) {
		o.present("Roots", len(files))
		for _, file := range files {
			o.check("Roots", C.asr_options_add_roots(o.handle, pointer(file), C.size_t(len(file))))
		}
	}
}

// TransactionReceiptIssuers are intermediate certificates for transaction receipts of iOS 3 to 6.
func TransactionReceiptIssuers(files ...[]byte) Option {
	return func(o *options) {
		o.present("TransactionReceiptIssuers", len(files))
		for _, file := range files {
			o.check("TransactionReceiptIssuers",
				C.asr_options_add_transaction_receipt_issuers(o.handle, pointer(file), C.size_t(len(file))))
		}
	}
}

// StoreKitTesting says that the roots are certificates of StoreKit Testing in Xcode.
func StoreKitTesting() Option {
	return func(o *options) { o.check("StoreKitTesting", C.asr_options_set_storekit_testing(o.handle, 1)) }
}

// Distrusted refuses what these certificates have signed: SHA-256 fingerprints in hexadecimal.
func Distrusted(fingerprints ...string) Option {
	return func(o *options) {
		o.present("Distrusted", len(fingerprints))
		o.texts("Distrusted", fingerprints, func(text *C.char) C.asr_status { return C.asr_options_add_distrusted(o.handle, text) })
	}
}

// MaximumAge refuses older evidence. A fraction of a second does not count; a negative age is an error.
func MaximumAge(age time.Duration) Option {
	return func(o *options) {
		if age < 0 { // more than -1 s would be 0
			o.check("MaximumAge", C.ASR_USAGE)
			return
		}
		o.check("MaximumAge", C.asr_options_set_maximum_age(o.handle, C.int64_t(age/time.Second)))
	}
}

// ValidationDate is the date to validate certificates at, or Now. The default is the date at which the evidence was signed.
func ValidationDate(date time.Time) Option {
	return func(o *options) {
		o.check("ValidationDate", C.asr_options_set_validation_date(o.handle, milliseconds(date)))
	}
}

// AllowsRSA1024 accepts transaction receipts of version 2, which have an RSA key of 1024 bits.
func AllowsRSA1024() Option {
	return func(o *options) { o.check("AllowsRSA1024", C.asr_options_set_allows_rsa_1024(o.handle, 1)) }
}

// Clock is where the verifier's clock stands still, for tests. The zero time is an error.
func Clock(date time.Time) Option {
	return func(o *options) {
		if date.IsZero() {
			o.check("Clock", C.ASR_USAGE)
			return
		}
		o.check("Clock", C.asr_options_set_clock(o.handle, milliseconds(date)))
	}
}
