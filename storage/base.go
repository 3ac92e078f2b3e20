package storage

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"sync"
)

// maxBase bounds what a compressed base may unfold to: the largest object
// that etcd takes. A larger one was forged.
const maxBase = 2 << 20

// Compress packs an essence for the base annotation. Equal essences give
// equal texts.
func Compress(essence []byte) string {
	var packed bytes.Buffer
	z := packers.Get().(*gzip.Writer)
	defer packers.Put(z)
	z.Reset(&packed)
	_, _ = z.Write(essence) // a buffer takes everything
	_ = z.Close()
	return base64.StdEncoding.EncodeToString(packed.Bytes())
}

// packers saves the megabyte that a new one takes.
var packers = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is a valid one
	return z
}}

// Uncompress unpacks a base annotation into the essence's canonical JSON.
func Uncompress(base string) ([]byte, error) {
	packed, err := base64.StdEncoding.DecodeString(base)
	if err != nil {
		return nil, fmt.Errorf("no valid base64")
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("no valid gzip")
	}
	essence, err := io.ReadAll(io.LimitReader(z, maxBase+1))
	if err != nil {
		return nil, fmt.Errorf("no valid gzip")
	}
	if len(essence) > maxBase {
		return nil, fmt.Errorf("unpacks to more than %d bytes", maxBase)
	}
	return essence, nil
}
