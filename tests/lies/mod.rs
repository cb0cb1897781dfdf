//! Lied to, intruded upon, and not alone.
//!
//! | module | what it tries |
//! |---|---|
//! | `matrix` | every kind of file, damaged in every way and place, with the checksum left and with the checksum made right |
//! | `intruders` | names that lead elsewhere, symbolic links, directories of somebody else, modes |
//! | `beside` | writers, readers and other runs at the same time |
//! | `shared` | what linked children share, whoever deletes, merges or collects garbage |
//!
//! Shared: `place` makes the indexes, `damage` changes files.

mod beside;
mod damage;
mod intruders;
mod matrix;
mod place;
mod shared;
