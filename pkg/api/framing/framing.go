// Package framing reads HTTP/1.1 requests strictly. It reads them from connections, before
// fasthttp parses them. The package decides where each request ends, when a body is requested
// from its sender, and how to discard an unwanted body.
package framing

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"k8s-cli/pkg/task/problem"
)

// HeadLimit is the largest size of a header with its request line, in bytes.
const HeadLimit = 16 << 10

const (
	maxChunkLine  = 256 // largest line with the size and the extension of a chunk, in bytes
	maxSizeDigits = 15  // hexadecimal digits of the size of a chunk, the limit of fasthttp
)

// The errors of a request that other HTTP implementations could interpret differently. No
// error quotes the request.
var (
	errHead            = unreadable("the header of the request is not valid HTTP/1.1; end each line with CRLF and write each field as NAME: VALUE (RFC 9112)")
	errVersion         = problem.New(problem.VersionNotSupported, "this HTTP version is not supported; send HTTP/1.1")
	errHost            = unreadable("the request needs exactly one valid Host field; send Host: NAME[:PORT]")
	errLength          = unreadable("Content-Length is not a number of bytes; send digits only")
	errAmbiguousLength = unreadable("conflicting Content-Length and Transfer-Encoding headers; send one Content-Length, or Transfer-Encoding: chunked alone")
	errChunk           = unreadable("a chunk of the body is malformed; send its size as 1 to 15 hexadecimal digits, CRLF, the data and CRLF (RFC 9112, 7.1)")
	errTrailer         = unreadable("trailers are not supported; send their fields in the header of the request")
	errLongHead        = problem.New(problem.HeaderTooLarge, fmt.Sprintf("the header of the request is larger than %d bytes", HeadLimit))
)

// HeadError returns the error for a request whose header fasthttp could not read. HeadError
// does not use the error text of fasthttp, because that text quotes the header, which may
// contain a token.
func HeadError(conn net.Conn, err error) error {
	if wrong := violationOf(conn, math.MaxUint64); wrong != nil {
		return wrong
	}
	if _, small := errors.AsType[*fasthttp.ErrSmallBuffer](err); small {
		return errLongHead
	}
	if e, network := errors.AsType[net.Error](err); network && e.Timeout() {
		return fiber.ErrRequestTimeout
	}
	return errHead
}

func unreadable(text string) error { return problem.New(problem.Malformed, text) }

// A frameState is the element of a request that comes next on a connection.
type frameState uint8

const (
	requestLine frameState = iota
	fieldLine
	fixedBody // of the length in Content-Length
	chunkLine
	chunkData
	chunkEnd // the CRLF after the data of a chunk
	trailer
	released // another protocol; see Release
)

// A framing tracks the boundaries of the requests on one connection. A framing accepts only
// requests whose boundaries are unambiguous by RFC 9112. This prevents request smuggling:
// if a proxy in front of the server found a different end of a request, an attacker could
// send a hidden second request in the name of another user. The zero framing is ready for
// the first request.
type framing struct {
	state frameState
	left  uint64 // remaining bytes of the body or the chunk
	line  []byte // beginning of an incomplete line
	size  int    // bytes of the header so far

	http11  bool
	chunked bool
	hosts   int
	ends    int // number of Content-Length and Transfer-Encoding fields
	length  uint64

	requests uint64 // number of complete headers
}

// current returns the number of the request, from 1, that contains the next byte.
func (f *framing) current() uint64 {
	if f.state <= fieldLine {
		return f.requests + 1
	}
	return f.requests
}

// check returns how many bytes of p are valid: all if err is nil. err describes the next
// byte.
func (f *framing) check(p []byte) (n int, err error) {
	for n < len(p) {
		var taken int
		if f.state == released {
			return len(p), nil
		}
		if f.state == fixedBody || f.state == chunkData {
			taken = f.skip(p[n:])
		} else if taken, err = f.consume(p[n:]); err != nil {
			return n + taken, err
		}
		n += taken
	}
	return n, nil
}

// skip consumes bytes of a body.
func (f *framing) skip(p []byte) int {
	n := min(uint64(len(p)), f.left)
	if f.left -= n; f.left == 0 && f.state == fixedBody {
		f.state = requestLine
	} else if f.left == 0 {
		f.state = chunkEnd
	}
	return int(n)
}

// consume reads the line at the beginning of p, or the part of the line that has arrived. consume
// never passes on the end of an invalid line, so that no reader acts on the line.
func (f *framing) consume(p []byte) (int, error) {
	end := bytes.IndexByte(p, '\n')
	length := end + 1
	if end < 0 {
		length = len(p)
	}
	if err := f.checkSize(length); err != nil {
		return 0, err
	}
	if end < 0 {
		f.line = append(f.line, p...)
		return length, nil
	}
	line := p[:length]
	if len(f.line) > 0 {
		f.line = append(f.line, line...)
		line, f.line = f.line, f.line[:0]
	}
	head, err := f.state <= fieldLine, errChunk
	if text, ok := bytes.CutSuffix(line, []byte("\r\n")); ok && bytes.IndexByte(text, '\r') < 0 {
		err = f.read(text)
	} else if head {
		err = errHead
	}
	switch {
	case err == nil:
		return length, nil
	case head:
		// Without the end of the line, fasthttp waits for more and reports err.
		return end, err
	}
	return 0, err
}

// checkSize checks the size of the current line or header after more bytes arrived.
func (f *framing) checkSize(more int) error {
	switch f.state {
	case requestLine, fieldLine:
		if f.size += more; f.size > HeadLimit {
			return errLongHead
		}
	case chunkLine:
		if len(f.line)+more > maxChunkLine {
			return errChunk
		}
	case chunkEnd:
		if len(f.line)+more > len("\r\n") {
			return errChunk
		}
	default:
		if len(f.line)+more > len("\r\n") {
			return errTrailer
		}
	}
	return nil
}

// read processes a complete line, without its CRLF.
func (f *framing) read(line []byte) error {
	switch f.state {
	case requestLine:
		if len(line) == 0 {
			return nil // RFC 9112, section 2.2: ignore empty lines before a request
		}
		f.state = fieldLine
		return f.readRequestLine(line)
	case fieldLine:
		if len(line) == 0 {
			return f.endHead()
		}
		return f.readField(line)
	case chunkLine:
		return f.readChunkLine(line)
	case chunkEnd:
		f.state = chunkLine
	default:
		f.state, f.size = requestLine, 0
	}
	if len(line) > 0 {
		return errChunk
	}
	return nil
}

func (f *framing) readRequestLine(line []byte) error {
	method, rest, ok := bytes.Cut(line, []byte(" "))
	target, version, twice := bytes.Cut(rest, []byte(" "))
	if !ok || !twice || len(target) == 0 || !all(method, tokenByte) || !all(target, visibleByte) {
		return errHead
	}
	switch string(version) {
	case "HTTP/1.1":
		f.http11 = true
	case "HTTP/1.0":
	default:
		if name, number, ok := bytes.Cut(version, []byte("/")); ok && string(name) == "HTTP" && len(number) == 3 && all(number, versionByte) {
			return errVersion
		}
		return errHead
	}
	return nil
}

// readField processes a field. readField rejects spaces around names and folded lines.
func (f *framing) readField(line []byte) error {
	colon := bytes.IndexByte(line, ':')
	if colon < 1 || !all(line[:colon], tokenByte) {
		return errHead
	}
	name, value := line[:colon], line[colon+1:]
	switch {
	case colon == len("Host") && bytes.EqualFold(name, []byte("Host")):
		if f.hosts++; f.hosts > 1 || !isHost(blanksOff(value)) {
			return errHost
		}
	case colon == len("Content-Length") && bytes.EqualFold(name, []byte("Content-Length")):
		if f.ends++; f.ends > 1 {
			return errAmbiguousLength
		}
		return f.readLength(blanksOff(value))
	case colon == len("Transfer-Encoding") && bytes.EqualFold(name, []byte("Transfer-Encoding")):
		f.ends++
		f.chunked = true
		if f.ends > 1 || !f.http11 || !bytes.EqualFold(blanksOff(value), []byte("chunked")) {
			return errAmbiguousLength
		}
	}
	return nil
}

func (f *framing) readLength(digits []byte) error {
	length, err := strconv.ParseUint(string(digits), 10, 63) // ParseUint accepts no sign
	if err != nil {
		return errLength
	}
	f.length = length
	return nil
}

// endHead begins the body, or the next request if there is no body.
func (f *framing) endHead() error {
	if f.http11 && f.hosts == 0 {
		return errHost
	}
	next := framing{line: f.line, left: f.length, requests: f.requests + 1}
	switch {
	case f.chunked:
		next.state = chunkLine
	case f.length > 0:
		next.state = fixedBody
	}
	*f = next
	return nil
}

// readChunkLine reads the size of a chunk. A chunk extension is allowed and ignored.
func (f *framing) readChunkLine(line []byte) error {
	digits := 0
	for digits < len(line) && isHex(line[digits]) {
		digits++
	}
	extension := line[digits:]
	if digits < 1 || digits > maxSizeDigits || len(extension) > 0 && extension[0] != ';' || !all(extension, fieldByte) {
		return errChunk
	}
	size, err := strconv.ParseUint(string(line[:digits]), 16, 64)
	if err != nil || size > math.MaxInt64 {
		return errChunk
	}
	if f.left, f.state = size, chunkData; size == 0 {
		f.state = trailer
	}
	return nil
}
