"""Syntax trees and places in them."""
