// Package framing reads HTTP/1.1 requests strictly from connections, in front of
// fasthttp: where each request ends, which of its body is wanted, and what becomes of
// a body that is not.
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

	"k8s-cli/pkg/task"
)

// HeadLimit is how many bytes the head of a request may have.
const HeadLimit = 16 << 10

const (
	maxChunkLine  = 256 // bytes of a chunk's size and extension
	maxSizeDigits = 15  // hexadecimal digits of a chunk's size, as many as fasthttp reads
)

// The errors of a request that another HTTP implementation could read otherwise.
// None of them quotes the request.
var (
	errHead            = unreadable("the header of the request is not valid HTTP/1.1; end each line with CRLF and write each field as NAME: VALUE (RFC 9112)")
	errVersion         = fiber.NewError(fiber.StatusHTTPVersionNotSupported, "this HTTP version is not supported; send HTTP/1.1")
	errHost            = unreadable("the request needs exactly one valid Host field; send Host: NAME[:PORT]")
	errLength          = unreadable("Content-Length is not a number of bytes; send digits only")
	errAmbiguousLength = unreadable("conflicting Content-Length and Transfer-Encoding headers; send one Content-Length, or Transfer-Encoding: chunked alone")
	errChunk           = unreadable("a chunk of the body is malformed; send its size as 1 to 15 hexadecimal digits, CRLF, the data and CRLF (RFC 9112, 7.1)")
	errTrailer         = unreadable("trailers are not supported; send their fields in the header of the request")
	errLongHead        = fiber.NewError(fiber.StatusRequestHeaderFieldsTooLarge, fmt.Sprintf("the header of the request is larger than %d bytes", HeadLimit))
)

// HeadError returns in words of our own why fasthttp could not read the head of a
// request. The words of fasthttp quote the head, in which there may be a token.
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

func unreadable(text string) error { return task.Error(task.ErrUnreadable, text) }

// A frameState names the element of a request that comes next on a connection.
type frameState uint8

const (
	requestLine frameState = iota
	fieldLine
	fixedBody // of the length that the head states
	chunkLine
	chunkData
	chunkEnd // the CRLF behind the data of a chunk
	trailer
)

// A framing follows the boundaries of the requests on one connection. It accepts
// only what RFC 9112 leaves no choice about: a proxy in front of the server that
// finds another end of a request would pass on a second one in the name of somebody
// else. The zero value is ready for the first request.
type framing struct {
	state frameState
	left  uint64 // bytes that the body or the chunk still has
	line  []byte // beginning of a line whose end has not arrived yet
	size  int    // bytes of the head so far

	http11  bool
	chunked bool
	hosts   int
	ends    int // fields that say where the body ends
	length  uint64

	requests uint64 // whose heads are complete
}

// current returns the number of the request, from 1, that the next byte belongs to.
func (f *framing) current() uint64 {
	if f.state <= fieldLine {
		return f.requests + 1
	}
	return f.requests
}

// check returns how many bytes of p may be read on, which is all of them unless
// err says what is wrong with the next one.
func (f *framing) check(p []byte) (n int, err error) {
	for n < len(p) {
		var taken int
		if f.state == fixedBody || f.state == chunkData {
			taken = f.skip(p[n:])
		} else if taken, err = f.consume(p[n:]); err != nil {
			return n + taken, err
		}
		n += taken
	}
	return n, nil
}

// skip passes over data.
func (f *framing) skip(p []byte) int {
	n := min(uint64(len(p)), f.left)
	if f.left -= n; f.left == 0 && f.state == fixedBody {
		f.state = requestLine
	} else if f.left == 0 {
		f.state = chunkEnd
	}
	return int(n)
}

// consume reads the line that begins p, or the part of it that has arrived. The end
// of a line that is wrong is never read on, so that nobody acts on it.
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
		return end, err // all but its end, so that fasthttp waits for more, and answers
	}
	return 0, err
}

// checkSize bounds a line, of which so many bytes more arrived.
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

// read takes a whole line, without its CRLF.
func (f *framing) read(line []byte) error {
	switch f.state {
	case requestLine:
		if len(line) == 0 {
			return nil // RFC 9112, 2.2
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

// readField reads what a field says about the end of the request. Blanks around a
// name are refused, and so are lines that continue the one before.
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
	length, err := strconv.ParseUint(string(digits), 10, 63) // which takes no sign
	if err != nil {
		return errLength
	}
	f.length = length
	return nil
}

// endHead turns to the body, or to the next request.
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

// readChunkLine reads the size of a chunk. An extension may be there, and says
// nothing.
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
