package main

import (
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// The libraries know it by this name, too (calls.c).
const pipeName = `\\.\pipe\lab-hns`

const (
	largest   = 4 << 20
	instances = 8
)

// serve answers from now on. One message is one call: name, GUID, GUID of the network and text, with a zero between
// each; the answer is the HRESULT in hexadecimal, a GUID and a text.
func serve(hns *service) error {
	name, err := windows.UTF16PtrFromString(pipeName)
	if err != nil {
		return err
	}
	mode := uint32(windows.PIPE_TYPE_MESSAGE | windows.PIPE_READMODE_MESSAGE | windows.PIPE_WAIT)
	for range instances {
		pipe, err := windows.CreateNamedPipe(name, windows.PIPE_ACCESS_DUPLEX, mode, instances, largest, largest, 0, nil)
		if err != nil {
			return err
		}
		go answer(pipe, hns)
	}
	return nil
}

func answer(pipe windows.Handle, hns *service) {
	buffer := make([]byte, largest)
	for {
		err := windows.ConnectNamedPipe(pipe, nil)
		if err == nil || err == windows.ERROR_PIPE_CONNECTED {
			var read, written uint32
			if windows.ReadFile(pipe, buffer, &read, nil) == nil {
				_ = windows.WriteFile(pipe, []byte(hns.answer(string(buffer[:read]))), &written, nil)
				_ = windows.FlushFileBuffers(pipe) // what is not read yet would be lost
			}
		}
		_ = windows.DisconnectNamedPipe(pipe)
	}
}

func (hns *service) answer(message string) string {
	words := strings.SplitN(message, "\x00", 4)
	if len(words) != 4 {
		return fmt.Sprintf("%08x\x00\x00", uint32(invalidArgument))
	}
	id, text, code := hns.call(words[0], words[1], words[2], words[3])
	return strconv.FormatUint(uint64(code), 16) + "\x00" + id + "\x00" + text
}

var callNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("CallNamedPipeW")

// ask makes one call of the service that runs.
func ask(message string) (string, error) {
	name, err := windows.UTF16PtrFromString(pipeName)
	if err != nil {
		return "", err
	}
	asked, answer, read := []byte(message), make([]byte, largest), uint32(0)
	done, _, err := callNamedPipe.Call(uintptr(unsafe.Pointer(name)),
		uintptr(unsafe.Pointer(&asked[0])), uintptr(len(asked)),
		uintptr(unsafe.Pointer(&answer[0])), uintptr(len(answer)),
		uintptr(unsafe.Pointer(&read)), 10_000)
	if done == 0 {
		return "", err
	}
	return string(answer[:read]), nil
}
