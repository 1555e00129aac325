// Command serve serves the pages of the dashboard from a directory, and forwards all other
// requests to a server. A change of a file shows after a reload of the page.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"time"

	"k8s-cli/pkg/ui"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func run() error {
	server := flag.String("server", "http://127.0.0.1:8000", "URL of the server")
	dir := flag.String("dir", "pkg/ui/static", "directory of the pages")
	listen := flag.String("listen", "127.0.0.1:8081", "address of the pages")
	flag.Parse()
	target, err := url.Parse(*server)
	if err != nil || target.Host == "" {
		return fmt.Errorf("-server %q is not a URL, for example http://127.0.0.1:8000", *server)
	}
	site, err := ui.FromDir(*dir)
	if err != nil {
		return err
	}
	fmt.Printf("the pages in %s are at http://%s%s, with the data of %s\n", *dir, *listen, ui.Root, target)
	s := &http.Server{Addr: *listen, Handler: handler(site, target), ReadHeaderTimeout: 10 * time.Second}
	return s.ListenAndServe()
}

// handler serves the pages from site, and everything else from the server at target. The
// server must see its own host as the origin of a request: it rejects writes from other ones.
func handler(site *ui.Site, target *url.URL) http.Handler {
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1, // events and logs
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if r.In.Header.Get("Origin") != "" {
				r.Out.Header.Set("Origin", target.Scheme+"://"+target.Host)
			}
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, ui.Root) {
			proxy.ServeHTTP(w, r)
			return
		}
		f, ok := site.Find(r.URL.Path)
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", f.Type)
		w.Header().Set("Cache-Control", f.CacheControl)
		w.Header().Set("Content-Security-Policy", f.Policy)
		_, _ = w.Write(f.Body) // an error means that the browser has left
	})
}
