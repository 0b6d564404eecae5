mod anything;
mod builtin;
mod json_patch;
mod merge_patch;
mod strategic;
