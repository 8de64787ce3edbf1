package proxy

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"
)

// echo starts a server that returns every line, and returns its address.
func echo(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for lines := bufio.NewScanner(c); lines.Scan(); {
					fmt.Fprintln(c, lines.Text())
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// caller is a connection that sends and receives lines.
type caller struct {
	net.Conn
	heard chan string
}

func call(t *testing.T, address string) caller {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c := caller{conn, make(chan string, 16)}
	go func() {
		defer close(c.heard)
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			c.heard <- lines.Text()
		}
	}()
	return c
}

func (c caller) hears(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-c.heard:
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	case <-time.After(patience):
		t.Fatalf("%q did not arrive", want)
	}
}

func TestALinkThatIsCutIsSilentAndLosesNothing(t *testing.T) {
	link, err := StartLink(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Stop)
	before := call(t, link.Address)
	fmt.Fprintln(before, "one")
	before.hears(t, "one")

	link.Cut()
	link.Cut()
	fmt.Fprintln(before, "two")
	during := call(t, link.Address)
	fmt.Fprintln(during, "three")
	// When another link to the same server has delivered a line, the cut link would have delivered its lines, too.
	other, err := StartLink(link.target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Stop)
	beside := call(t, other.Address)
	fmt.Fprintln(beside, "four")
	beside.hears(t, "four")
	if len(before.heard)+len(during.heard) > 0 {
		t.Error("data passed a link that was cut")
	}

	link.Mend()
	link.Mend()
	before.hears(t, "two")
	during.hears(t, "three")
}

func TestALinkPassesTheEndOfAConnectionOn(t *testing.T) {
	link, err := StartLink(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	c := call(t, link.Address)
	fmt.Fprintln(c, "one")
	c.hears(t, "one")
	link.Stop()
	select {
	case _, open := <-c.heard:
		if open {
			t.Error("a stopped link accepts connections")
		}
	case <-time.After(patience):
		t.Fatal("the connection is open although the link has stopped")
	}
}
