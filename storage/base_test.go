package storage

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestABaseUnpacksToTheEssence(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		essence := bytes.Repeat(rapid.SliceOf(rapid.Byte()).Draw(t, "essence"), rapid.IntRange(0, 50).Draw(t, "times"))
		got, err := Uncompress(Compress(essence))
		if err != nil || !bytes.Equal(got, essence) {
			t.Fatalf("%d bytes, want %d: %v", len(got), len(essence), err)
		}
	})
}

func TestCompressIsDeterministicInParallel(t *testing.T) {
	t.Parallel()
	essence := Rules{}.Essence(decode(t, certificate))
	want := Compress(essence)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			Compress(bytes.Repeat([]byte{byte(i)}, 1000*i))
			if Compress(essence) != want {
				t.Error("another text")
			}
		})
	}
	all.Wait()
}

func TestForgedBasesAreRefusedWithoutRepeatingThem(t *testing.T) {
	t.Parallel()
	pack := func(data []byte) string {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		z.Write(data)
		z.Close()
		return b.String()
	}
	encode := func(packed string) string { return base64.StdEncoding.EncodeToString([]byte(packed)) }
	whole := pack([]byte(`{"a":"hunter2"}`))
	for rule, c := range map[string]struct{ base, reason string }{
		"no base64":          {"hunter2!", "no valid base64"},
		"nothing":            {"", "no valid gzip"},
		"no gzip":            {encode("hunter2 hunter2"), "no valid gzip"},
		"truncated":          {encode(whole[:len(whole)-5]), "no valid gzip"},
		"broken sum":         {encode(whole[:len(whole)-5] + "12345"), "no valid gzip"},
		"text behind":        {encode(whole + "hunter2 hunter2"), "no valid gzip"},
		"a bomb":             {encode(pack(make([]byte, 8<<20))), "unpacks to more than"},
		"a bomb of many":     {encode(strings.Repeat(pack(make([]byte, 1<<20)), 3)), "unpacks to more than"},
		"a byte too many":    {encode(pack(make([]byte, maxBase+1))), "unpacks to more than"},
		"a bomb of nothings": {encode(strings.Repeat(pack(nil), 1000) + "x"), "no valid gzip"},
	} {
		got, err := Uncompress(c.base)
		if err == nil || !strings.Contains(err.Error(), c.reason) || strings.Contains(err.Error(), secret) || got != nil {
			t.Errorf("%s: %d bytes, %v", rule, len(got), err)
		}
	}
	if got, err := Uncompress(encode(pack(make([]byte, maxBase)))); err != nil || len(got) != maxBase {
		t.Errorf("the largest object: %d bytes, %v", len(got), err)
	}
}
