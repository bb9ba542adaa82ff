//! What a file is that is none of ours, by how it begins.

/// The beginnings of files that people take for tensors.
const BEGINNINGS: [(&[u8], &str); 15] = [
    (b"PK\x03\x04", "a zip archive: a PyTorch checkpoint or an .npz"),
    (b"\x80\x02", "a pickle: an old PyTorch checkpoint"),
    (b"\x80\x03", "a pickle"),
    (b"\x80\x04", "a pickle"),
    (b"\x80\x05", "a pickle"),
    (b"\x93NUMPY", "a .npy: numpy.load() reads it"),
    (b"GGUF", "a GGUF file"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"version https://git-lfs", "a Git LFS pointer: `git lfs pull` gets the file it stands for"),
    (b"<!DOCTYPE", "a page of HTML: the download gave a page in place of the file"),
    (b"<!doctype", "a page of HTML: the download gave a page in place of the file"),
    (b"<html", "a page of HTML: the download gave a page in place of the file"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"{\"", "JSON text; the index of shards ends in .index.json"),
    (b"{\n", "JSON text; the index of shards ends in .index.json"),
];

/// How many bytes tell them apart.
pub(super) const ENOUGH: usize = 24;

/// What begins so.
pub(super) fn recognised(beginning: &[u8]) -> Option<&'static str> {
    BEGINNINGS.iter().find(|(bytes, _)| beginning.starts_with(bytes)).map(|&(_, name)| name)
}
