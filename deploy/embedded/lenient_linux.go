//go:build !static

package embedded

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"iter"
	"os"
	"strings"
	"syscall"
	"unsafe"
)

// The C++ runtime's names of the two classes whose methods are involved.
const (
	killingHandler = "19KillingErrorHandler" // of clickhouse-local: any error on a connection ends the process
	lenientHandler = "N4Poco12ErrorHandlerE" // its base class: an error ends the connection
	firstMethod    = 2                       // index of the first of the methods in both; two destructors precede it
	methods        = 3                       // exception(Poco), exception(std), exception()
	word           = 8
)

// keepServing makes the loaded library survive errors on its connections. It is
// clickhouse-local with open ports: a client that resets an idle connection,
// sends a wrong password or does not speak the ClickHouse protocol makes a
// connection's thread throw, and clickhouse-local then ends the whole process,
// where a ClickHouse server logs the error. There is no setting for that. Here
// the error handler of clickhouse-local gets the methods of its base class, in
// the class's table of virtual functions (Itanium C++ ABI, 2.5.2 and 2.9.5),
// which is found by the names in its type information; nothing depends on
// addresses of one release.
func keepServing(path string) error {
	lib, err := readLibrary(path)
	if err != nil {
		return err
	}
	killing, err := lib.virtualMethods(killingHandler)
	if err != nil {
		return err
	}
	lenient, err := lib.virtualMethods(lenientHandler)
	if err != nil {
		return err
	}
	return overwrite(killing, lenient)
}

// library is a loaded library in memory.
type library struct {
	names, pointers []byte // constants; what the loader has filled in
	code            struct{ begin, end uintptr }
}

func readLibrary(path string) (*library, error) {
	file, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	base, err := loadedAt(path)
	if err != nil {
		return nil, err
	}
	section := func(name string) []byte {
		s := file.Section(name)
		if s == nil {
			err = fmt.Errorf("the library has no section %s", name)
			return []byte{0}
		}
		return unsafe.Slice((*byte)(at(base+uintptr(s.Addr))), s.Size)
	}
	lib := &library{names: section(".rodata"), pointers: section(".data.rel.ro")}
	text := section(".text")
	lib.code.begin = uintptr(unsafe.Pointer(&text[0]))
	lib.code.end = lib.code.begin + uintptr(len(text))
	return lib, err
}

// loadedAt returns the address at which the loader put a file.
func loadedAt(path string) (uintptr, error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(strings.TrimSpace(line), " "+path) { // the first is the lowest
			var start uintptr
			if _, err := fmt.Sscanf(line, "%x-", &start); err != nil {
				return 0, err
			}
			return start, nil
		}
	}
	return 0, fmt.Errorf("%s is not loaded", path)
}

// at returns a pointer to memory that is not Go's.
func at(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// virtualMethods finds the methods in a class's table of virtual functions: from
// the class name to the type information that points to it, and from there to
// the table that points to that.
func (l *library) virtualMethods(class string) ([]byte, error) {
	i := bytes.Index(l.names, []byte(class+"\x00")) // nothing ends with either name
	if i < 0 {
		return nil, fmt.Errorf("the library has no class %s", class)
	}
	for name := range l.pointersTo(&l.names[i]) {
		if name < word {
			continue
		}
		for table := range l.pointersTo(&l.pointers[name-word]) {
			// Derived classes point to the type information too. In a table it
			// is preceded by the distance to the top of the object, and followed
			// by code.
			from := table + (1+firstMethod)*word
			if table < word || from+methods*word > len(l.pointers) || l.pointer(table-word) != 0 {
				continue
			}
			code := true
			for m := range methods {
				address := l.pointer(from + m*word)
				code = code && address >= l.code.begin && address < l.code.end
			}
			if code {
				return l.pointers[from : from+methods*word], nil
			}
		}
	}
	return nil, fmt.Errorf("the library has no virtual functions of %s", class)
}

// pointer reads a pointer.
func (l *library) pointer(place int) uintptr {
	return uintptr(binary.NativeEndian.Uint64(l.pointers[place:]))
}

// pointersTo yields the positions of the pointers to an address.
func (l *library) pointersTo(address *byte) iter.Seq[int] {
	want := binary.NativeEndian.AppendUint64(nil, uint64(uintptr(unsafe.Pointer(address))))
	return func(yield func(int) bool) {
		for from := 0; ; from++ {
			i := bytes.Index(l.pointers[from:], want)
			if i < 0 {
				return
			}
			if from += i; from%word == 0 && !yield(from) {
				return
			}
		}
	}
}

// overwrite writes to memory that the loader has made read-only.
func overwrite(to, from []byte) error {
	page := uintptr(os.Getpagesize())
	begin := uintptr(unsafe.Pointer(&to[0])) &^ (page - 1)
	end := (uintptr(unsafe.Pointer(&to[len(to)-1])) | (page - 1)) + 1
	pages := unsafe.Slice((*byte)(at(begin)), end-begin)
	if err := syscall.Mprotect(pages, syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
		return err
	}
	copy(to, from)
	return syscall.Mprotect(pages, syscall.PROT_READ)
}
