package appstorereceipt

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

type sharedCase struct {
	Name, Call, JSON  string
	Evidence          []string
	Date              int64
	LatestReceiptInfo bool `json:"latest_receipt_info"`
	Options           struct {
		BundleIDs      []string `json:"bundle_ids"`
		Environments   []string
		AppAppleID     string `json:"app_apple_id"`
		Roots          []string
		Issuers        []string `json:"transaction_receipt_issuers"`
		Testing        bool     `json:"storekit_testing"`
		Distrusted     []string
		MaximumAge     int64           `json:"maximum_age"`
		ValidationDate json.RawMessage `json:"validation_date"`
		AllowsRSA1024  bool            `json:"allows_rsa_1024"`
		Clock          int64
	}
	Expect struct {
		Status         Status
		Code, Category string
		JSON           *string
	}
}

func files(t testing.TB, names ...string) (contents [][]byte) {
	for _, name := range names {
		bytes, err := os.ReadFile(filepath.Join("../../TestVectors", name))
		if err != nil {
			t.Fatal(err)
		}
		contents = append(contents, bytes)
	}
	return contents
}

func date(milliseconds int64) time.Time {
	if milliseconds == 0 {
		return time.Time{}
	}
	return time.UnixMilli(milliseconds)
}

func (c *sharedCase) options(t testing.TB) Options {
	o := c.Options
	options := Options{
		BundleIDs: o.BundleIDs, Environments: o.Environments, AppAppleID: o.AppAppleID, Roots: files(t, o.Roots...),
		TransactionReceiptIssuers: files(t, o.Issuers...), StoreKitTesting: o.Testing, Distrusted: o.Distrusted,
		MaximumAge: time.Duration(o.MaximumAge) * time.Second, AllowsRSA1024: o.AllowsRSA1024, Clock: date(o.Clock)}
	if string(o.ValidationDate) == `"now"` {
		options.ValidatesNow = true
	} else if o.ValidationDate != nil {
		var milliseconds int64
		if err := json.Unmarshal(o.ValidationDate, &milliseconds); err != nil {
			t.Fatal(err)
		}
		options.ValidationDate = date(milliseconds)
	}
	return options
}

func (c *sharedCase) run(t *testing.T) (bytes []byte, status Status, err error) {
	verifier, err := NewVerifier(c.options(t))
	if err != nil || c.Call == "new" {
		return nil, 0, err
	}
	evidence := files(t, c.Evidence...)
	switch c.Call {
	case "verify":
		form := map[string]Form{"full": Full, "brief": Brief, "none": None}[c.JSON]
		verified, err := verifier.Verify(evidence[0], form)
		if err != nil {
			return nil, 0, err
		}
		if form == Full { // The library names the kind in the brief verdict. The binding finds it in the full one.
			brief, err := verifier.Verify(evidence[0], Brief)
			if err != nil {
				t.Fatal(err)
			}
			expected, err1 := brief.Verdict()
			found, err2 := verified.Verdict()
			if err1 != nil || err2 != nil || found.Kind != expected.Kind {
				t.Error(found, expected, err1, err2)
			}
		}
		return verified.VerdictJSON, 0, nil
	case "entitlements":
		entitlements, err := verifier.Entitlements(date(c.Date), evidence...)
		if err != nil {
			return nil, 0, err
		}
		return entitlements.JSON, 0, entitlements.Err
	case "answer":
		answer := verifier.Answer(evidence[0], c.LatestReceiptInfo)
		return answer.JSON, 0, answer.Err
	case "decode":
		bytes, err := DecodeUnverified(evidence[0])
		return bytes, 5, err
	}
	t.Fatalf("unknown call %s", c.Call)
	return
}

func TestSharedCases(t *testing.T) {
	bytes, err := os.ReadFile("../cases/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []sharedCase
	if err := json.Unmarshal(bytes, &cases); err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for i := range cases {
		c := &cases[i]
		t.Run(c.Name, func(t *testing.T) {
			bytes, status, err := c.run(t)
			var code, category string
			var e *VerificationError
			if errors.As(err, &e) {
				status, code, category, bytes = e.Status, e.Code, e.Category, e.VerdictJSON
			} else if err != nil {
				t.Fatal(err)
			}
			x := c.Expect
			if status != x.Status || code != x.Code || category != x.Category {
				t.Errorf("%d %s %s, expected %d %s %s", status, code, category, x.Status, x.Code, x.Category)
			}
			if (bytes == nil) != (x.JSON == nil) || x.JSON != nil && string(bytes) != *x.JSON {
				t.Errorf("found %s", bytes)
			}
		})
	}
	t.Logf("go: %d cases", len(cases))
}

func testVerifier(t testing.TB) *Verifier {
	verifier, err := NewVerifier(Options{
		BundleIDs: []string{"com.example.app"}, Environments: []string{"production"}, Roots: files(t, "authority/root.der"),
		Clock: date(1750420800000)})
	if err != nil {
		t.Fatal(err)
	}
	return verifier
}

func TestAVerdictHasItsKindAndTrust(t *testing.T) {
	for _, form := range []Form{Full, Brief} {
		evidence, err := testVerifier(t).Verify(files(t, "receipts/1-purchase.der")[0], form)
		if err != nil {
			t.Fatal(err)
		}
		verdict, err := evidence.Verdict()
		if err != nil || verdict.Kind != "receipt" || verdict.Trust.ValidatedAt.Unix() != 1749988800 {
			t.Errorf("%+v %v", verdict, err)
		}
	}
}

func TestARefusedPieceIsExplained(t *testing.T) {
	entitlements, err := testVerifier(t).Entitlements(time.Time{}, files(t, "receipts/1-purchase.der", "asn1/empty.der")...)
	if err != nil || len(entitlements.Items) != 1 {
		t.Fatal(entitlements, err)
	}
	var e *VerificationError
	if !errors.As(entitlements.Err, &e) || e.Message != "the input is empty" || e.Advice == "" {
		t.Error(entitlements.Err)
	}
}

func TestGoroutinesShareAVerifier(t *testing.T) {
	verifier, receipt := testVerifier(t), files(t, "receipts/1-purchase.der")[0]
	var group sync.WaitGroup
	for i := 0; i < 200; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			if !verifier.Accepts(receipt) {
				t.Error("a receipt is not accepted")
			}
		}()
	}
	group.Wait()
	var counts struct{ Verified int }
	if err := json.Unmarshal(verifier.CountsJSON(), &counts); err != nil || counts.Verified != 200 {
		t.Error(counts, err)
	}
}

func TestAnOptionThatCannotBeReadIsNamed(t *testing.T) {
	for name, options := range map[string]Options{
		"Environments": {Environments: []string{"nowhere"}}, "Roots": {Roots: [][]byte{nil}},
		"BundleIDs": {BundleIDs: []string{"a\x00b"}}, "Distrusted": {Distrusted: []string{"00"}},
	} {
		_, err := NewVerifier(options)
		var e *VerificationError
		if !errors.As(err, &e) || e.Status != Usage || e.Message != "the option "+name+" cannot be read" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The evidence and the root of ./benchmark, or a receipt of the vectors.
func benchmark(b *testing.B, call func(*Verifier, []byte)) {
	verifier, evidence := testVerifier(b), files(b, "receipts/1-purchase.der")[0]
	if name := os.Getenv("EVIDENCE"); name != "" {
		root, err := os.ReadFile(os.Getenv("ROOT"))
		if err != nil {
			b.Fatal(err)
		}
		if evidence, err = os.ReadFile(name); err != nil {
			b.Fatal(err)
		}
		verifier, err = NewVerifier(Options{Environments: []string{"production", "sandbox"}, Roots: [][]byte{root}})
		if err != nil {
			b.Fatal(err)
		}
	}
	if !verifier.Accepts(evidence) {
		b.Fatal(string(verifier.VerdictJSON(evidence, Full)))
	}
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		call(verifier, evidence)
	}
}

func BenchmarkAccepts(b *testing.B) {
	benchmark(b, func(v *Verifier, evidence []byte) { v.Accepts(evidence) })
}

func BenchmarkVerdictJSON(b *testing.B) {
	benchmark(b, func(v *Verifier, evidence []byte) { v.VerdictJSON(evidence, Full) })
}

func BenchmarkEvidence(b *testing.B) {
	benchmark(b, func(v *Verifier, evidence []byte) {
		verified, err := v.Verify(evidence, Full)
		if err == nil {
			_, err = verified.Verdict()
		}
		if err != nil {
			b.Fatal(err)
		}
	})
}
