// Responds with net/http over TLS without reading the request content: early FOLDER
// /early/STATUS/SIZE responds with SIZE bytes; /count with the number of ids (queries), and of those that came twice.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
)

func main() {
	var lock sync.Mutex
	seen := map[string]int{}
	handler := func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		defer lock.Unlock()
		parts := strings.Split(r.URL.Path, "/")
		if len(parts) == 4 {
			seen[r.URL.RawQuery]++
			status, _ := strconv.Atoi(parts[2])
			size, _ := strconv.Atoi(parts[3])
			w.WriteHeader(status)
			w.Write(make([]byte, size))
			return
		}
		twice := 0
		for _, count := range seen {
			if count > 1 {
				twice++
			}
		}
		fmt.Fprintf(w, `{"ids":%d,"twice":%d}`, len(seen), twice)
		seen = map[string]int{}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("go=https://localhost:%d/\n", listener.Addr().(*net.TCPAddr).Port)
	folder := os.Args[1]
	panic(http.ServeTLS(listener, http.HandlerFunc(handler), folder+"/server.pem", folder+"/server.key"))
}
