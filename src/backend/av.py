"""PyAV: the planes of FFmpeg's video frames, rows of pixels with padding behind each."""

import av

VERSIONS = [("av", av.__version__)]
CLAIMS = None
MUTABLE = True
HAS_READONLY = False
PYTHON_DESTRUCTOR = False
MAX_NDIM = 3
ORDINARY = ("uint8", (2, 3))
SWAPPED = True

# Pixel formats by element type and by how many numbers a pixel has; a third axis counts them.
FORMATS = {
    ("uint8", 1): "gray",
    ("uint8", 2): "ya8",
    ("uint8", 3): "rgb24",
    ("uint8", 4): "rgba",
    ("uint16", 1): "gray16le",
    ("uint16", 2): "ya16le",
    ("uint16", 3): "rgb48le",
    ("uint16", 4): "rgba64le",
    ("float16", 1): "grayf16le",
    ("float16", 4): "rgbaf16le",
    ("float32", 1): "grayf32le",
    ("float32", 4): "rgbaf32le",
}
DTYPES = ["uint8", "uint16", "float16", "float32"]
# Another plane than the first, a picture upside down, and formats whose elements are no numbers of their own.
PLANES = {"uint8": "yuv444p", "uint16": "yuv444p16le"}
OBJECTS = ["slice", "reversed", "imported", "dictionary", "bits"]
REFUSABLE = {"dictionary": "a palette", "bits": "a bit per pixel", "reversed": "FFmpeg's rows run backwards"}

FLIP = """from fractions import Fraction
graph = av.filter.Graph()
source = graph.add_buffer(width=frame.width, height=frame.height, format=frame.format.name, time_base=Fraction(1))
flip, sink = graph.add("vflip"), graph.add("buffersink")
source.link_to(flip), flip.link_to(sink), graph.configure()
frame.pts, frame.time_base = 0, Fraction(1)
graph.push(frame)
x = graph.pull().planes[0]
"""


def statements(d):
    if d.order != "C" or not d.writable:
        raise Inexpressible("FFmpeg lays out the rows of a frame as it likes, and they can be written")
    if len(d.shape) not in (2, 3) or not all(d.shape) or max(d.shape) > 16384:
        raise Inexpressible("a frame has rows of pixels")
    if len(d.shape) == 3 and d.shape[2] == 1:
        raise Inexpressible("a pixel of one number is none of several")
    if d.object == "imported":
        if d.dtype not in ("uint8", "uint16"):
            raise Inexpressible("PyAV imports no such elements")
    height, width = d.shape[:2]
    kind = FORMATS.get((d.dtype, d.shape[2] if len(d.shape) == 3 else 1))
    if d.object == "slice":
        kind = PLANES.get(d.dtype) if len(d.shape) == 2 else None
    elif d.object == "dictionary":
        kind = "pal8" if d.dtype == "uint8" and len(d.shape) == 2 else None
    elif d.object == "bits":
        kind = "monow" if d.dtype == "uint8" and len(d.shape) == 2 else None
    if kind is None:
        raise Inexpressible(f"FFmpeg has no such format of {d.dtype}")
    if d.byteorder == "swapped":
        kind = kind.removesuffix("le") + "be"
    plane = 1 if d.object == "slice" else 0
    text = f"""import av
frame = av.VideoFrame({width}, {height}, {kind!r})
x = frame.planes[{plane}]
"""
    if d.object not in REFUSABLE or d.object == "reversed":
        row = len(d.memory) // height
        text += f"x.update(b''.join(bytes(block[row : row + {row}]).ljust(x.line_size, b'\\0') for row in range(0, len(block), {row})))\n"
    if d.object == "reversed":
        text += FLIP
    if d.object == "imported":
        text += f"x = av.VideoFrame.from_dlpack([x], format={kind!r}, width={width}, height={height}).planes[0]\n"
    return text


def facts(x, d):
    exportable = REFUSABLE.get(d.object, True)
    if d.byteorder == "swapped":
        exportable = "the bytes are swapped"
    elif d.dtype == "float32":
        exportable = "elements of 32 bits"
    shape = (x.height, x.width, *d.shape[2:])
    strides = (x.line_size, d.strides[1], *d.strides[2:])
    return {"writable": None, "exportable": exportable, "shape": shape, "strides": strides, "address": x.buffer_ptr}


def view(d):
    return f"""def source_view():
    return x.buffer_ptr, (x.height, x.width, *{d.shape[2:]}), (x.line_size, *{d.strides[1:]}), {d.itemsize}

def allocation():
    return x.buffer_ptr, x.buffer_ptr + x.buffer_size
"""
