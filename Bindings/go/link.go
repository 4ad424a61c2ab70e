package appstorereceipt

// In the packaged module, this file names the static library instead.

// #cgo pkg-config: appstorereceipt
import "C"
