package appstorereceipt

// #include <appstorereceipt.h>
import "C"

import (
	"bytes"
	"encoding/json"
	"time"
)

// Status is the result of a call that failed.
type Status int32

const (
	Refused       Status = C.ASR_REFUSED       // The evidence is not genuine, or the options do not accept it.
	Host          Status = C.ASR_HOST          // This host or this library is at fault: keep the evidence.
	Configuration Status = C.ASR_CONFIGURATION // The options are at fault.
	Usage         Status = C.ASR_USAGE         // The call is wrong.
)

// VerificationError is the reason that evidence was refused, or that a Verifier could not be made. Find it with errors.As.
type VerificationError struct {
	Status      Status
	Code        string // a stable word such as "bundle-id-mismatch"; "usage" if an option cannot be read
	Category    string // who can correct the error: "client", "forgery" or "host"
	Message     string
	Advice      string
	VerdictJSON []byte // the refusal, or nil
}

func newError(o outcome) *VerificationError {
	type details struct{ Code, Message, Advice string }
	var verdict struct {
		Error   details
		Refused []struct{ Error details } // of entitlements, where the error is that of one of the pieces
	}
	e := &VerificationError{Status: o.status, Code: o.code, Category: o.category, Message: o.code, VerdictJSON: o.json}
	if json.Unmarshal(o.json, &verdict) != nil {
		return e
	}
	errors := []details{verdict.Error}
	for _, piece := range verdict.Refused {
		errors = append(errors, piece.Error)
	}
	for _, found := range errors {
		if found.Code == o.code {
			e.Message, e.Advice = found.Message, found.Advice
			break
		}
	}
	return e
}

func (e *VerificationError) Error() string { return e.Code + ": " + e.Message }

// HTTPStatus is the status to respond with: 400, 403 or 500.
func (e *VerificationError) HTTPStatus() int {
	switch e.Category {
	case "client":
		return 400
	case "forgery":
		return 403
	}
	return 500
}

// Form says what a verdict's JSON has.
type Form uint32

const (
	Full  Form = C.ASR_JSON_FULL  // all contents
	Brief Form = C.ASR_JSON_BRIEF // the kind and the trust
)

// Trust is who signed the evidence. The fingerprints are SHA-256 in hexadecimal.
type Trust struct {
	Authority     string
	Anchor        string
	Signer        string
	SignerExpires time.Time `json:"signer_expires"`
	Digest        string
	ValidatedAt   time.Time `json:"validated_at"`
}

// Evidence is evidence that was verified.
type Evidence struct {
	Kind        string // the name of the verdict's member that has the contents: "receipt", "transaction", "notification", …
	Trust       Trust
	VerdictJSON []byte // the verdict, to store
	contents    []byte
}

// newEvidence reads the trust and the kind, which follows it. The contents can be large, and are read when they are asked for.
func newEvidence(text []byte) (*Evidence, error) {
	_, rest, _ := bytes.Cut(text, []byte(`"trust":`))
	e := &Evidence{VerdictJSON: text}
	decoder := json.NewDecoder(bytes.NewReader(rest))
	if err := decoder.Decode(&e.Trust); err != nil {
		return nil, err
	}
	kind, contents, _ := bytes.Cut(rest[decoder.InputOffset():], []byte(`":`))
	e.Kind, e.contents = string(bytes.TrimPrefix(kind, []byte(`,"`))), contents
	return e, nil
}

// Contents decodes the contents into the value that into points to, as json.Unmarshal does.
func (e *Evidence) Contents(into any) error {
	return json.NewDecoder(bytes.NewReader(e.contents)).Decode(into)
}

// Verdict decodes the whole verdict. A notification's signed parts are its members "transaction" and "renewal_info".
func (e *Evidence) Verdict(into any) error { return json.Unmarshal(e.VerdictJSON, into) }

// Entitlement is what one transaction gives access to.
type Entitlement struct {
	TransactionID         string `json:"transaction_id"`
	OriginalTransactionID string `json:"original_transaction_id"`
	ProductID             string `json:"product_id"`
	Access                string // "active", "owned", "consumable", or the reason it gives no access
	GivesAccess           bool   `json:"gives_access"` // whether the product may be used at the date; a consumable gives no access that lasts
	Grantable             bool   // whether it can be granted, once: it gives access, or is a consumable with a quantity of at least 1
	Until                 *time.Time
	Quantity              int64
	PurchaseDate          *time.Time `json:"purchase_date"`
	ExpiresDate           *time.Time `json:"expires_date"`
	AppAccountToken       string     `json:"app_account_token"`
}

// UnmarshalJSON reads the members. A date in a year that RFC 3339 does not have, before 0 or after 9999, is nil.
func (e *Entitlement) UnmarshalJSON(text []byte) error {
	type plain Entitlement
	dates := struct {
		*plain
		Until        date
		PurchaseDate date `json:"purchase_date"`
		ExpiresDate  date `json:"expires_date"`
	}{plain: (*plain)(e)}
	err := json.Unmarshal(text, &dates)
	e.Until, e.PurchaseDate, e.ExpiresDate = dates.Until.time, dates.PurchaseDate.time, dates.ExpiresDate.time
	return err
}

type date struct{ time *time.Time }

func (d *date) UnmarshalText(text []byte) error {
	if read, err := time.Parse(time.RFC3339, string(text)); err == nil {
		d.time = &read
	}
	return nil
}

// Refusal is a piece of evidence that was refused, by its place among those that were passed.
type Refusal struct {
	Index                   int
	Code, Category, Message string
}

// UnmarshalJSON reads the piece's error.
func (r *Refusal) UnmarshalJSON(text []byte) error {
	var piece struct {
		Index int
		Error struct{ Code, Category, Message string }
	}
	err := json.Unmarshal(text, &piece)
	*r = Refusal{piece.Index, piece.Error.Code, piece.Error.Category, piece.Error.Message}
	return err
}

// Entitlements are what the evidence of one customer gives access to. Refused pieces give access to nothing; the others count.
type Entitlements struct {
	At      time.Time
	Items   []Entitlement
	Refused []Refusal
	JSON    []byte `json:"-"`
	Err     error  `json:"-"` // the error of the first piece that was refused, or nil
}

// Answer is an answer of verifyReceipt.
type Answer struct {
	JSON []byte // the body of the response, which Apple sends with HTTP status 200
	Err  error  // the reason of an answer without a receipt, or nil
}

// Counts are the numbers of inputs verified and refused in this process.
type Counts struct {
	Verified   int64
	Refused    map[string]int64
	ChainCache struct{ Hits, Misses, Evictions int64 } `json:"chain_cache"`
}
