package main

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The sizes in pixels. The common monospace fonts are 0.6 times as wide as high.
const (
	charWidth  = 8
	lineHeight = 18
	baseline   = 13 // from the top of a line
	margin     = 16
	fontSize   = "13.3px"
)

// lastFrame is how long the last frame stays before the animation begins again.
const lastFrame = 3 * time.Second

// The colours of the page, its border, plain text, and the eight colours of terminals. A
// bright colour is shown as the dark one, because both must be readable on the page.
var (
	lightColors = []string{"#f6f8fa", "#d1d9e0", "#1f2328", "#59636e", "#cf222e", "#1a7f37", "#8a5d00", "#0969da", "#8250df", "#126f77", "#59636e"}
	darkColors  = []string{"#0d1117", "#3d444d", "#e6edf3", "#9198a1", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#9198a1"}
)

// colorNames are the CSS variables of the colours.
var colorNames = []string{"page", "edge", "text", "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"}

const styleSheet = `
svg{%s}
@media(prefers-color-scheme:dark){svg{%s}}
text{font:` + fontSize + ` ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;fill:var(--text)}
.c0{fill:var(--c0)}.c1{fill:var(--c1)}.c2{fill:var(--c2)}.c3{fill:var(--c3)}.c4{fill:var(--c4)}.c5{fill:var(--c5)}.c6{fill:var(--c6)}.c7{fill:var(--c7)}
.b{font-weight:bold}
.page{fill:var(--page)}
.edge{stroke:var(--edge)}
.cursor{fill:var(--text);opacity:.6}
.a{animation:%s step-end infinite}
.o{visibility:hidden}
@media(prefers-reduced-motion:reduce){.a{animation:none!important}}
`

// A drawing collects the parts of an SVG.
type drawing struct {
	total time.Duration
	rules strings.Builder // of the style sheet
	body  strings.Builder
	names int // of animations
}

// svgOf returns an animated SVG of a film. Without animations it shows the last frame.
func svgOf(title string, f *film) []byte {
	d := &drawing{total: f.end + lastFrame}
	d.scroll(f.positions)
	for _, group := range byTime(f.segments) {
		d.group(group)
	}
	for _, s := range f.segments {
		if s.typed > 0 {
			d.cover(s)
		}
	}
	d.cursor(f.positions)

	width, height := columns*charWidth, rows*lineHeight
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" role="img"><title>%[3]s</title><style>`,
		width+2*margin, height+2*margin, escape(title))
	fmt.Fprintf(&b, styleSheet, variables(lightColors), variables(darkColors), seconds(d.total))
	b.WriteString(d.rules.String())
	fmt.Fprintf(&b, "</style>\n<rect class=\"page edge\" x=\".5\" y=\".5\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n",
		width+2*margin-1, height+2*margin-1)
	fmt.Fprintf(&b, "<svg x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\">%s</g></svg>\n</svg>\n", margin, margin, width, height, d.body.String())
	return []byte(b.String())
}

func variables(colors []string) string {
	var all []string
	for i, name := range colorNames {
		all = append(all, "--"+name+":"+colors[i])
	}
	return strings.Join(all, ";")
}

// byTime groups the segments that appear and disappear at the same times.
func byTime(all []*segment) (groups [][]*segment) {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b *segment) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.until, b.until))
	})
	for i, s := range sorted {
		if i == 0 || s.from != sorted[i-1].from || s.until != sorted[i-1].until {
			groups = append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], s)
	}
	return groups
}

// group draws segments that appear and disappear at the same times.
func (d *drawing) group(segments []*segment) {
	from, until := segments[0].from, segments[0].until
	frames := "0%{visibility:hidden}" + d.percent(from) + "{visibility:visible}"
	class := "a"
	if until > 0 {
		frames += d.percent(until) + "{visibility:hidden}"
		class = "a o"
	}
	fmt.Fprintf(&d.body, `<g class="%s" style="animation-name:%s">`, class, d.animation(frames))
	for _, s := range segments {
		for _, r := range s.runs() {
			d.text(s.line, r)
		}
	}
	d.body.WriteString("</g>\n")
}

// cover draws a rectangle of the page's colour that hides the characters of a typed segment,
// and moves away to the right one character at a time.
func (d *drawing) cover(s *segment) {
	steps := len(s.cells) - 1
	end := cmp.Or(s.until, s.typed)
	frames := fmt.Sprintf("0%%{visibility:hidden}%s{visibility:visible;transform:none;animation-timing-function:steps(%d)}%s{visibility:hidden;transform:translateX(%dpx)}",
		d.percent(s.from), steps, d.percent(min(end, s.typed)), steps*charWidth)
	fmt.Fprintf(&d.body, "<rect class=\"a o page\" style=\"animation-name:%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
		d.animation(frames), (s.column+1)*charWidth, s.line*lineHeight, steps*charWidth, lineHeight)
}

// scroll begins the part of the drawing that moves when the screen scrolls.
func (d *drawing) scroll(positions []position) {
	var frames strings.Builder
	last := 0
	for _, p := range positions {
		if p.scrolled != last {
			fmt.Fprintf(&frames, "%s{transform:translateY(%dpx)}", d.percent(p.at), -p.scrolled*lineHeight)
			last = p.scrolled
		}
	}
	fmt.Fprintf(&d.body, "<g class=\"a\" style=\"animation-name:%s\" transform=\"translate(0 %d)\">\n", d.animation("0%{transform:none}"+frames.String()), -last*lineHeight)
}

// cursor draws the cursor, which moves one character at a time while a command is typed.
func (d *drawing) cursor(positions []position) {
	var frames strings.Builder
	for i := 0; i < len(positions); i++ {
		first := i
		for i+1 < len(positions) && positions[i].isBeforeKey(positions[i+1]) {
			i++
		}
		if i > first {
			fmt.Fprintf(&frames, "%s{%s;animation-timing-function:steps(%d)}", d.percent(positions[first].at), positions[first].cursor(), i-first)
		}
		fmt.Fprintf(&frames, "%s{%s}", d.percent(positions[i].at), positions[i].cursor())
	}
	last := positions[len(positions)-1].cursor()
	fmt.Fprintf(&d.body, "<rect class=\"a cursor\" style=\"animation-name:%s;%s\" width=\"%d\" height=\"%d\"/>",
		d.animation(frames.String()), last, charWidth, lineHeight)
}

// isBeforeKey reports whether next is the position after a character was typed at p.
func (p position) isBeforeKey(next position) bool {
	return !p.hidden && !next.hidden && next.line == p.line && next.x == p.x+1 && next.at-p.at <= keyGap
}

func (p position) cursor() string {
	visibility := "visible"
	if p.hidden {
		visibility = "hidden"
	}
	return fmt.Sprintf("visibility:%s;transform:translate(%dpx,%dpx)", visibility, min(p.x, columns-1)*charWidth, p.line*lineHeight)
}

// animation adds an animation and returns its name.
func (d *drawing) animation(frames string) string {
	name := "k" + strconv.FormatInt(int64(d.names), 36)
	d.names++
	fmt.Fprintf(&d.rules, "@keyframes %s{%s}\n", name, frames)
	return name
}

func (d *drawing) percent(at time.Duration) string {
	return strconv.FormatFloat(float64(at*10000/d.total)/100, 'f', -1, 64) + "%"
}

func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}

// A run is a part of a segment whose characters have one style.
type run struct {
	column int
	cells  []cell
}

// runs splits a segment at changes of the style and at two or more blanks, so that the
// columns of tables are in place with every font.
func (s *segment) runs() (all []run) {
	for start := 0; start < len(s.cells); {
		if s.cells[start].isBlank() {
			start++
			continue
		}
		end := start + 1
		for s.continues(end, start) || s.isBlank(end) && s.continues(end+1, start) {
			end++
		}
		all = append(all, run{s.column + start, s.cells[start:end]})
		start = end
	}
	return all
}

func (s *segment) isBlank(i int) bool { return i < len(s.cells) && s.cells[i].isBlank() }

// continues reports whether cell i has a character in the style of cell start.
func (s *segment) continues(i, start int) bool {
	return i < len(s.cells) && !s.cells[i].isBlank() && s.cells[i].style == s.cells[start].style
}

func (d *drawing) text(line int, r run) {
	fmt.Fprintf(&d.body, `<text x="%d" y="%d"`, r.column*charWidth, line*lineHeight+baseline)
	if class := r.cells[0].style.class(); class != "" {
		fmt.Fprintf(&d.body, ` class="%s"`, class)
	}
	if len(r.cells) > 1 {
		fmt.Fprintf(&d.body, ` textLength="%d"`, len(r.cells)*charWidth)
	}
	fmt.Fprintf(&d.body, ">%s</text>", escape(textOf(r.cells)))
}

func (s style) class() string {
	var all []string
	if s.color > 0 {
		all = append(all, "c"+strconv.Itoa((s.color-1)%8))
	}
	if s.bold {
		all = append(all, "b")
	}
	return strings.Join(all, " ")
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder accepts every write
	return b.String()
}
