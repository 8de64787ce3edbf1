//go:build race

package flightrecorder_test

const raceDetector = true
