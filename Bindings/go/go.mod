module appstorereceipt

go 1.19
