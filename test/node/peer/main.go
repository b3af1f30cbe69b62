// Command peer is what runs in pods that a story needs besides those it is about. It is also what keeps the namespaces of
// every pod of the node.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const usage = `usage: peer pause        until it is told to end
       peer get URL [NAME]
                         print the status and the body of what is there; exit code 1 when nothing answers. NAME is
                         what the server is told that it was called, instead of the URL's host`

func main() {
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] == "pause":
		pause()
	case len(os.Args) == 3 && os.Args[1] == "get":
		err = get(os.Args[2], "")
	case len(os.Args) == 4 && os.Args[1] == "get":
		err = get(os.Args[2], os.Args[3])
	default:
		err = fmt.Errorf("%s", usage)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// pause returns once the process is told to end.
func pause() {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM, syscall.SIGINT)
	<-told
}

// get prints what a server answers who is called by that name; "": by the URL's.
func get(url, name string) error {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Host = name
	resp, err := (&http.Client{Timeout: 5 * time.Second}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	_, err = io.Copy(os.Stdout, resp.Body)
	return err
}
