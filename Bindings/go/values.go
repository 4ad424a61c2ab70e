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

type date struct{ time *time.Time }

func (d *date) UnmarshalText(text []byte) error {
	if read, err := time.Parse(time.RFC3339, string(text)); err == nil {
		d.time = &read
	}
	return nil
}

// UnmarshalJSON reads the piece's error.
func (r *Refusal) UnmarshalJSON(text []byte) error {
	var piece struct {
		Index int
		Error struct{ Code, Category, Message string }
	}
	err := json.Unmarshal(text, &piece)
	*r = Refusal{Index: piece.Index, Code: piece.Error.Code, Category: piece.Error.Category, Message: piece.Error.Message}
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
