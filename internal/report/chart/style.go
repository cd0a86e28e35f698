package chart

import (
	"image/color"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The colours that people tell apart however they see colours (Okabe and Ito).
var (
	blue       = color.RGBA{0x00, 0x72, 0xB2, 0xFF}
	sky        = color.RGBA{0x56, 0xB4, 0xE9, 0xFF}
	green      = color.RGBA{0x00, 0x9E, 0x73, 0xFF}
	orange     = color.RGBA{0xE6, 0x9F, 0x00, 0xFF}
	vermillion = color.RGBA{0xD5, 0x5E, 0x00, 0xFF}
	purple     = color.RGBA{0xCC, 0x79, 0xA7, 0xFF}
	yellow     = color.RGBA{0xF0, 0xE4, 0x42, 0xFF}
	black      = color.RGBA{0x22, 0x22, 0x22, 0xFF}
	grey       = color.RGBA{0x77, 0x77, 0x77, 0xFF}
	pale       = color.RGBA{0xDD, 0xDD, 0xDD, 0xFF}
	shade      = color.RGBA{0xF3, 0xF1, 0xEA, 0xFF}
	white      = color.RGBA{0xFF, 0xFF, 0xFF, 0xFF}
)

var (
	gridLine = draw.LineStyle{Color: color.RGBA{0xE6, 0xE6, 0xE6, 0xFF}, Width: 0.5}
	axisLine = draw.LineStyle{Color: grey, Width: 0.75}
	markLine = draw.LineStyle{Color: grey, Width: 0.75, Dashes: []vg.Length{3, 2}}

	letters   = text.Plain{Fonts: font.NewCache(liberation.Collection())}
	bodyText  = lettered(8.5, false)
	titleText = above(lettered(12, true))
)

func lettered(size vg.Length, bold bool) draw.TextStyle {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return draw.TextStyle{Color: black, Font: f, Handler: letters, YAlign: draw.YCenter}
}

func centred(s draw.TextStyle) draw.TextStyle {
	s.XAlign, s.YAlign = draw.XCenter, draw.YTop
	return s
}

func rightwards(s draw.TextStyle) draw.TextStyle {
	s.XAlign = draw.XRight
	return s
}

func above(s draw.TextStyle) draw.TextStyle {
	s.YAlign = draw.YTop
	return s
}

func rectangle(left, bottom, right, top vg.Length) []vg.Point {
	return []vg.Point{{X: left, Y: bottom}, {X: right, Y: bottom}, {X: right, Y: top}, {X: left, Y: top}}
}
