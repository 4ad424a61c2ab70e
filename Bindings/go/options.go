package appstorereceipt

// #include <appstorereceipt.h>
// #include <stdlib.h>
import "C"

import (
	"strings"
	"time"
	"unsafe"
)

// Options are what a Verifier accepts, and which certificates it trusts.
type Options struct {
	// BundleIDs are the apps to accept. Without any, compare the bundle id in the contents before you grant anything.
	BundleIDs []string
	// Environments are "production", "sandbox", "xcode" and "local-testing". At least one is required.
	Environments []string
	// AppAppleID is the app's Apple id, a number. Notifications and real-time requests have it.
	AppAppleID string
	// Roots are self-signed certificates in DER or PEM, trusted instead of Apple's.
	Roots [][]byte
	// TransactionReceiptIssuers are intermediate certificates for transaction receipts of iOS 3 to 6.
	TransactionReceiptIssuers [][]byte
	// StoreKitTesting says that the roots are certificates of StoreKit Testing in Xcode.
	StoreKitTesting bool
	// Distrusted are SHA-256 fingerprints of certificates, in hexadecimal. What they have signed is refused.
	Distrusted []string
	// MaximumAge refuses older evidence. Zero accepts any age.
	MaximumAge time.Duration
	// ValidationDate is the date to validate certificates at. The zero Time is the date at which the evidence was signed.
	ValidationDate time.Time
	// ValidatesNow validates certificates at the present, in place of ValidationDate.
	ValidatesNow bool
	// AllowsRSA1024 accepts transaction receipts of version 2, which have an RSA key of 1024 bits.
	AllowsRSA1024 bool
	// Clock is where the verifier's clock stands still, for tests. The zero Time is the system's clock.
	Clock time.Time
}

// setter keeps the name of the first option that cannot be read.
type setter struct {
	options *C.asr_options
	wrong   string
}

func (s *setter) check(name string, status C.asr_status) {
	if status != C.ASR_VERIFIED && s.wrong == "" {
		s.wrong = name
	}
}

func (s *setter) string(name string, value string, set func(*C.char) C.asr_status) {
	if strings.IndexByte(value, 0) >= 0 {
		s.check(name, C.ASR_USAGE)
		return
	}
	text := C.CString(value)
	defer C.free(unsafe.Pointer(text))
	s.check(name, set(text))
}

func (o Options) apply(s *setter) {
	for _, value := range o.BundleIDs {
		s.string("BundleIDs", value, func(t *C.char) C.asr_status { return C.asr_options_add_bundle_id(s.options, t) })
	}
	for _, value := range o.Environments {
		s.string("Environments", value, func(t *C.char) C.asr_status { return C.asr_options_add_environment(s.options, t) })
	}
	for _, value := range o.Distrusted {
		s.string("Distrusted", value, func(t *C.char) C.asr_status { return C.asr_options_add_distrusted(s.options, t) })
	}
	if o.AppAppleID != "" {
		s.string("AppAppleID", o.AppAppleID, func(t *C.char) C.asr_status {
			return C.asr_options_set_app_apple_id(s.options, t)
		})
	}
	for _, value := range o.Roots {
		s.check("Roots", C.asr_options_add_roots(s.options, pointer(value), C.size_t(len(value))))
	}
	for _, value := range o.TransactionReceiptIssuers {
		s.check("TransactionReceiptIssuers", C.asr_options_add_transaction_receipt_issuers(
			s.options, pointer(value), C.size_t(len(value))))
	}
	if o.StoreKitTesting {
		s.check("StoreKitTesting", C.asr_options_set_storekit_testing(s.options, 1))
	}
	if o.MaximumAge != 0 {
		s.check("MaximumAge", C.asr_options_set_maximum_age(s.options, C.int64_t(o.MaximumAge/time.Second)))
	}
	if o.ValidatesNow {
		s.check("ValidatesNow", C.asr_options_set_validation_date(s.options, C.ASR_DATE_NOW))
	} else if !o.ValidationDate.IsZero() {
		s.check("ValidationDate", C.asr_options_set_validation_date(s.options, C.int64_t(o.ValidationDate.UnixMilli())))
	}
	if o.AllowsRSA1024 {
		s.check("AllowsRSA1024", C.asr_options_set_allows_rsa_1024(s.options, 1))
	}
	if !o.Clock.IsZero() {
		s.check("Clock", C.asr_options_set_clock(s.options, C.int64_t(o.Clock.UnixMilli())))
	}
}
