package appstorereceipt

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

type signingExpectation struct {
	Claims                         map[string]any
	Message                        []string
	Status                         Status
	Code, Category, Argument, Kind string
}

type signingCases struct {
	Key       string
	PublicKey string `json:"public_key"`
	KeyID     string `json:"key_id"`
	IssuerID  string `json:"issuer_id"`
	BundleID  string `json:"bundle_id"`
	Cases     []struct {
		Name, Call string
		Arguments  struct {
			ProductID           string  `json:"product_id"`
			OfferID             string  `json:"offer_id"`
			TransactionID       *string `json:"transaction_id"`
			AppAccountToken     *string `json:"app_account_token"`
			ApplicationUsername string  `json:"application_username"`
			Allow               bool    `json:"allow_introductory_offer"`
			Request             string
		}
		Expect signingExpectation
	}
	Keys []struct {
		File   string
		Expect signingExpectation
	}
	IDs []struct {
		Argument, Value string
		Expect          signingExpectation
	}
}

func signingFile(t *testing.T, name string) []byte {
	bytes, err := os.ReadFile(filepath.Join("../cases/signing", name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func (c *signingCases) verifies(t *testing.T, message string, r, s *big.Int) bool {
	block, _ := pem.Decode(signingFile(t, c.PublicKey))
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte(message))
	return ecdsa.Verify(key.(*ecdsa.PublicKey), digest[:], r, s)
}

func (c *signingCases) checkJWS(t *testing.T, jws string, expected map[string]any) {
	parts := strings.Split(jws, ".")
	decoded := make([][]byte, len(parts))
	for i, part := range parts {
		decoded[i], _ = base64.RawURLEncoding.Strict().DecodeString(part)
	}
	var header, claims map[string]any
	if len(parts) != 3 || json.Unmarshal(decoded[0], &header) != nil || json.Unmarshal(decoded[1], &claims) != nil || len(decoded[2]) != 64 {
		t.Fatal(jws)
	}
	if !reflect.DeepEqual(header, map[string]any{"alg": "ES256", "kid": c.KeyID, "typ": "JWT"}) {
		t.Error(header)
	}
	if age := time.Now().Unix() - int64(claims["iat"].(float64)); age < 0 || age > 10 || len(claims["nonce"].(string)) != 36 {
		t.Error(claims)
	}
	delete(claims, "iat")
	delete(claims, "nonce")
	expected["iss"], expected["bid"] = c.IssuerID, c.BundleID
	if !reflect.DeepEqual(claims, expected) {
		t.Error(claims, expected)
	}
	if !c.verifies(t, parts[0]+"."+parts[1], new(big.Int).SetBytes(decoded[2][:32]), new(big.Int).SetBytes(decoded[2][32:])) {
		t.Error("not verified")
	}
}

func (c *signingCases) checkOriginal(t *testing.T, offer *PromotionalOfferSignature, expected []string) {
	number, _ := json.Marshal(offer.Timestamp)
	message := strings.Join(append(expected, offer.Nonce, string(number)), "\u2063")
	block, _ := pem.Decode(signingFile(t, c.PublicKey))
	key, _ := x509.ParsePKIXPublicKey(block.Bytes)
	digest := sha256.Sum256([]byte(message))
	der, err := base64.StdEncoding.Strict().DecodeString(offer.Signature)
	if err != nil || !ecdsa.VerifyASN1(key.(*ecdsa.PublicKey), digest[:], der) || offer.KeyID != c.KeyID {
		t.Error(offer, err)
	}
	if age := time.Now().UnixMilli() - offer.Timestamp; age < 0 || age > 10000 {
		t.Error(offer.Timestamp)
	}
}

func checkRefusal(t *testing.T, err error, expect signingExpectation) {
	var e *VerificationError
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	var verdict struct{ Error struct{ Argument string } }
	_ = json.Unmarshal(e.VerdictJSON, &verdict)
	if e.Status != expect.Status || e.Code != expect.Code || e.Category != expect.Category || verdict.Error.Argument != expect.Argument ||
		!strings.Contains(e.Message, expect.Kind) {
		t.Errorf("%+v, expected %+v", e, expect)
	}
}

func TestSigning(t *testing.T) {
	bytes, err := os.ReadFile("../cases/signing.json")
	if err != nil {
		t.Fatal(err)
	}
	var c signingCases
	if err := json.Unmarshal(bytes, &c); err != nil || len(c.Cases) == 0 {
		t.Fatal(err)
	}
	signer, err := NewSigner(c.KeyID, c.IssuerID, c.BundleID, KeyBytes(signingFile(t, c.Key)))
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range c.Cases {
		a := each.Arguments
		t.Run(each.Name, func(t *testing.T) {
			var jws string
			var offer *PromotionalOfferSignature
			var err error
			switch each.Call {
			case "promotional_offer":
				jws, err = signer.SignPromotionalOffer(a.ProductID, a.OfferID, a.TransactionID)
			case "introductory_offer_eligibility":
				jws, err = signer.SignIntroductoryOfferEligibility(a.ProductID, a.Allow, *a.TransactionID)
			case "advanced_commerce_request":
				jws, err = signer.SignAdvancedCommerceRequest(a.Request)
			case "original_promotional_offer":
				offer, err = signer.SignOriginalPromotionalOffer(a.ProductID, a.OfferID, a.AppAccountToken)
			case "original_promotional_offer_for_username":
				offer, err = signer.SignOriginalPromotionalOfferForUsername(a.ProductID, a.OfferID, a.ApplicationUsername)
			default:
				t.Fatal(each.Call)
			}
			if each.Expect.Code != "" {
				checkRefusal(t, err, each.Expect)
			} else if err != nil {
				t.Fatal(err)
			} else if each.Expect.Claims != nil {
				c.checkJWS(t, jws, each.Expect.Claims)
			} else {
				c.checkOriginal(t, offer, each.Expect.Message)
			}
		})
	}
	for _, each := range c.Keys {
		_, err := NewSigner(c.KeyID, c.IssuerID, c.BundleID, KeyBytes(signingFile(t, each.File)))
		if each.Expect.Status == 0 {
			if err != nil {
				t.Error(each.File, err)
			}
			continue
		}
		checkRefusal(t, err, each.Expect)
	}
	for _, each := range c.IDs {
		ids := map[string]string{"key_id": "1", "issuer_id": "2", "bundle_id": "3"}
		ids[each.Argument] = each.Value
		_, err := NewSigner(ids["key_id"], ids["issuer_id"], ids["bundle_id"], KeyBytes(signingFile(t, c.Key)))
		checkRefusal(t, err, each.Expect)
	}
	path := filepath.Join(t.TempDir(), "key.p8")
	if err := os.WriteFile(path, signingFile(t, c.Key), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewSigner(c.KeyID, c.IssuerID, c.BundleID, KeyFile(path)); err != nil {
		t.Error(err)
	}
	_ = os.Chmod(path, 0o640)
	_, err = NewSigner(c.KeyID, c.IssuerID, c.BundleID, KeyFile(path))
	checkRefusal(t, err, signingExpectation{Status: Configuration, Code: "key-accessible-to-others", Category: "host"})
	_, err = NewSigner(c.KeyID, c.IssuerID, c.BundleID, KeyCredential("../key.p8"))
	checkRefusal(t, err, signingExpectation{Status: Configuration, Code: "key-no-credential", Category: "host"})
	_, err = NewSigner(c.KeyID, c.IssuerID, c.BundleID, Key{})
	checkRefusal(t, err, signingExpectation{Status: Usage, Code: "usage", Category: "host"})
	_, err = NewSigner(c.KeyID, c.IssuerID, c.BundleID, KeyBytes(nil))
	checkRefusal(t, err, signingExpectation{Status: Configuration, Code: "key-not-pem", Category: "host"})
	_, err = signer.SignPromotionalOffer("\xff", "a", nil)
	checkRefusal(t, err, signingExpectation{Status: Usage, Code: "usage", Category: "host"})
	var none *Signer
	if _, err := none.SignPromotionalOffer("a", "b", nil); err == nil {
		t.Error("signed")
	}
	t.Logf("go: %d cases of signatures", len(c.Cases))
}

func TestWhatPrintsAKeyPrintsNothingOfIt(t *testing.T) {
	p8 := signingFile(t, "key.p8")
	type configuration struct{ key Key }
	hidden := string(p8[40:80])
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		for _, value := range []any{KeyBytes(p8), &configuration{KeyBytes(p8)}, []Key{KeyBytes(p8)}} {
			text := fmt.Sprintf(verb, value)
			for _, each := range []string{hidden, fmt.Sprintf("%x", hidden), strings.Trim(fmt.Sprint([]byte(hidden)), "[]"), "PRIVATE"} {
				if strings.Contains(text, each) {
					t.Errorf("%s prints %s", verb, text)
				}
			}
		}
	}
}
